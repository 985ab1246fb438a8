"""Processes of a fault run, of a paid service and of its payer: `start(role, stated)`.

They are forks of a process that has loaded their code, so that a killed one is replaced for a tenth of a second of CPU instead of a whole one.
"""

import asyncio
import hashlib
import json
import os
import random
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
import uvloop

from hansa_client import AgentCredentials, AsyncRegistry, RetryPolicy
from hansa_client.aiohttp_transport import AsyncAiohttpTransport
from hansa_client.errors import HansaError
from hansa_client.pay import (
    AsyncPayingClient,
    Journal,
    PaymentInProgress,
    PaymentRefused,
    PaymentUnresolved,
    paying,
)
from hansa_client.service import PaidService
from tests.operation.forked_commands import CommandServer, ForkedCommand, Program

# A registry issues at most 20 tokens to an agent that are not used yet.
PAYERS, AT_ONCE_OF_EACH = 3, 16
# So that what a payer is granted at the beginning pays for the longest run.
PRICE = "0.0002"
CALL = "call-"


def append(file: Path, line: str) -> None:
    """One line, whole also beside other processes."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


class Unreliable(httpx2.AsyncBaseTransport):
    """A network that loses requests and answers, doubles requests and delays them; each goes to a random port."""

    def __init__(
        self, ports: Sequence[int] | None, rate: float, inner: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._inner = inner or AsyncAiohttpTransport()
        self._ports, self._rate = ports, rate

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._ports:
            request.url = request.url.copy_with(port=random.choice(self._ports))
        fault = random.random() / self._rate
        if fault < 0.3:
            raise httpx2.ConnectError("the request was lost", request=request)
        if fault < 0.5:
            await asyncio.sleep(random.uniform(0, 0.3))
        if fault < 0.7 and self._ports:
            doubled = asyncio.create_task(self._doubled(request))
            await asyncio.sleep(random.uniform(0, 0.02))
            response = await self._inner.handle_async_request(request)
            await doubled
            return response
        response = await self._inner.handle_async_request(request)
        if 0.7 <= fault < 1:
            await response.aread()
            await response.aclose()
            raise httpx2.ReadError("the answer was lost", request=request)
        return response

    async def _doubled(self, request: httpx2.Request) -> None:
        again = httpx2.Request(
            request.method, request.url, headers=request.headers, content=await request.aread()
        )
        again.extensions = dict(request.extensions)
        try:
            response = await self._inner.handle_async_request(again)
            await response.aread()
            await response.aclose()
        except httpx2.TransportError:
            return


def serve(stated: dict[str, Any]) -> None:
    """Work for whatever is paid; every execution is a line of a file, with the body and a hash of the token."""
    executions = Path(stated["executions"])

    async def works(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        body = (await receive())["body"].decode()
        token = dict(scope["headers"])[b"x-payment-token"]
        append(executions, f"{body} {hashlib.sha256(token).hexdigest()}")
        await asyncio.sleep(random.uniform(0, 0.05))
        headers = [(b"content-type", b"text/plain")]
        status = 500 if body.endswith("7") else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": f"answer to {body}".encode()})

    service = PaidService(
        agent_did=stated["payee"]["did"],
        registry_url=stated["registry"],
        credentials=AgentCredentials(*stated["payee"]["credentials"]),
        accept_caller_capture=True,
        price=PRICE,
        store=stated["store"],
    )
    uvicorn.run(service.asgi(works), port=stated["port"], log_level="critical")


async def _lifespan(receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def pay(stated: dict[str, Any]) -> None:
    """Make every call that is not yet done, until each has an outcome; every payer makes its share."""
    journal = Journal(stated["journal"])
    begun = await _begun(journal)
    waiting = _not_done(Path(stated["done"]), stated["calls"])
    # Popped first: what an earlier process began holds tokens, and only so many may be unused.
    waiting.sort(key=begun.__contains__)
    shares = [[body for body in waiting if payer_of(body) == payer] for payer in range(PAYERS)]
    await asyncio.gather(*(_pay_share(stated, payer, shares[payer], journal) for payer in range(PAYERS)))
    await asyncio.to_thread(journal.close)


def payer_of(body: str) -> int:
    """Return the number of the payer that makes the call with this body."""
    return int(body) % PAYERS


def capture_of(body: str) -> str:
    """Return the party that captures the payment for this body."""
    return "payee" if int(body) // PAYERS % 3 else "caller"


def _not_done(done_file: Path, calls: int) -> list[str]:
    done = (
        {line.split(" ")[0] for line in done_file.read_text().splitlines()} if done_file.exists() else set()
    )
    waiting = [body for body in map(str, range(calls)) if body not in done]
    random.shuffle(waiting)
    return waiting


async def _begun(journal: Journal) -> set[str]:
    """The bodies whose payments an earlier process has not ended."""
    entries = await asyncio.wrap_future(journal.open_entries())
    return {str(entry.call_id).removeprefix(CALL) for entry in entries}


async def _pay_share(stated: dict[str, Any], payer: int, waiting: list[str], journal: Journal) -> None:
    done_file = Path(stated["done"])
    registry = AsyncRegistry(
        stated["registry"],
        agent=AgentCredentials(*stated["payers"][payer]["credentials"]),
        retries=RetryPolicy(attempts=4),
        http_transport=Unreliable(None, 0.05),
    )
    client = AsyncPayingClient(
        registry,
        max_amount=PRICE,
        journal=journal,
        patience_seconds=3.0,
        timeout=10.0,
        transport=Unreliable(stated["ports"], stated["fault_rate"]),
    )

    async def work() -> None:
        while waiting:
            body = waiting.pop()
            # A named call is paid once, also when this process dies before it has written down the outcome.
            options = paying(
                payee=stated["payee"]["did"], capture_by=capture_of(body), call_id=f"{CALL}{body}"
            )
            url = f"http://127.0.0.1:{stated['ports'][0]}/work"
            try:
                response = await client.post(url, content=body.encode(), extensions=options)
            except PaymentRefused:
                append(done_file, f"{body} refused")
            except (PaymentUnresolved, PaymentInProgress, HansaError, httpx2.TransportError):
                await asyncio.sleep(0.1)
                waiting.append(body)
            else:
                append(done_file, f"{body} {response.status_code}")

    await asyncio.gather(*(work() for _ in range(AT_ONCE_OF_EACH)))
    await client.aclose()
    await registry.aclose()


CHECKOUT = Path(__file__).parents[2]
PROCESSES = CommandServer(
    Program("paid-process", "hansa_client", __name__, sys.executable, checkout=CHECKOUT),
)


async def start(role: str, stated: dict[str, Any], log: Path) -> ForkedCommand:
    """Start a new process; its standard error is appended to the file `log`."""
    with log.open("ab") as file:
        return await PROCESSES.run(role, json.dumps(stated), environment={}, stderr=file.fileno())


def prepare() -> None:
    """Load the modules that a server loads when it begins to serve."""
    for module in ("lifespan.on", "loops.uvloop", "protocols.http.httptools_impl"):
        import_module(f"uvicorn.{module}")


def main() -> None:
    """Be the process that the command line asks for."""
    role, members = sys.argv[1], json.loads(sys.argv[2])
    Path("/proc/self/comm").write_text(f"paid-{role}", encoding="ascii")
    if role == "service":
        serve(members)
    else:
        uvloop.run(pay(members))
