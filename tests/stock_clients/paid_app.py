"""A paid service as the x402 package has it: its FastAPI middleware in front of its paths.

`python paid_app.py OPTIONS`: OPTIONS is JSON with facilitator, payTo, network, asset, amount, extra and, where it is to be
known before, port. Writes `ready` and its address when it listens. `/a2a` answers as a service of A2A.
"""

import json
import socket
import sys

import uvicorn
from fastapi import FastAPI, Request, Response
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.middleware.fastapi import payment_middleware
from x402.mechanisms.evm.exact import ExactEvmServerScheme

options = json.loads(sys.argv[1])
facilitator = HTTPFacilitatorClient(FacilitatorConfig(url=options["facilitator"]))
server = x402ResourceServer(facilitator)
server.register(options["network"], ExactEvmServerScheme())
price = {name: options[name] for name in ("amount", "asset", "extra")}
terms = {"scheme": "exact", "payTo": options["payTo"], "price": price, "network": options["network"]}
routes = {route: {"accepts": terms} for route in ("GET /answer", "POST /answer", "POST /a2a")}
app = FastAPI()
guard = payment_middleware(routes, server)
calls: list[str] = []


@app.middleware("http")
async def paid(request: Request, call_next) -> Response:
    return await guard(request, call_next)


@app.get("/answer")
@app.post("/answer")
async def answer() -> dict[str, int]:

    calls.append("answer")
    return {"answer": 42, "answered": len(calls)}


@app.post("/a2a")
async def work(request: Request) -> dict[str, object]:
    call = await request.json()
    calls.append("work")
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": call["params"]["message"]["parts"]}
    return {"jsonrpc": "2.0", "id": call["id"], "result": {"message": message}}


listening = socket.create_server(("127.0.0.1", options.get("port", 0)))
print(f"ready http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
