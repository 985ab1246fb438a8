"""A paid service and its payer, on sockets, beside a real registry."""

import asyncio
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from hansa_client import AgentCredentials, AsyncRegistry
from hansa_client.pay import AsyncPayingClient, Budget
from hansa_client.service import PaidService
from hansa_client.service.asgi import PaidApp
from tests.doors.served import serving
from tests.registry import TestAgent, TestRegistry

PRICE = "0.05"


@dataclass
class Works:
    """An application without payment. It counts how often each body was worked on."""

    executions: Counter[str] = field(default_factory=Counter)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        body = (await receive()).get("body", b"").decode()
        self.executions[body] += 1
        await self.gate.wait()
        match scope["path"]:
            case "/raise":
                raise RuntimeError("the work failed")
            case "/refuse":
                await _send(send, 422, b'{"detail": "no such city"}')
            case "/moved":
                await _send(send, 307, b"")
            case "/stream":
                await _stream(send, [f"data: {number}\n\n".encode() for number in range(3)])
            case _:
                answer = {"echo": body, "execution": self.executions[body]}
                await _send(send, 200, json.dumps(answer).encode())


class LosesPaidAnswers(httpx2.AsyncHTTPTransport):
    """A network that loses the answer of every call that bears a payment."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if "X-Payment-Token" not in request.headers:
            return response
        await response.aread()
        await response.aclose()
        raise httpx2.ReadError("the answer was lost", request=request)


class RefusesPaidCalls(httpx2.AsyncHTTPTransport):
    """A service that cannot be reached any more once a payment is to be sent."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if "X-Payment-Token" in request.headers:
            raise httpx2.ConnectError("connection refused", request=request)
        return await super().handle_async_request(request)


class HoldsSettlements(httpx2.AsyncHTTPTransport):
    """A registry that does not answer settlements until `gate` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/settle"):
            await self.gate.wait()
        return await super().handle_async_request(request)


class BreaksPaidAnswers(httpx2.AsyncHTTPTransport):
    """A service, or a proxy before it, that states an encoding which its paid answers do not have."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if "X-Payment-Token" in request.headers:
            response.headers["Content-Encoding"] = "gzip"
        return response


@dataclass
class Shop:
    """A running service, its payee, its payer and their registry."""

    registry: TestRegistry
    payee: TestAgent
    payer: TestAgent
    url: str
    works: Works
    service: PaidService
    directory: Path
    opened: list[Any] = field(default_factory=list)

    def client(self, payer: TestAgent | None = None, **options: Any) -> AsyncPayingClient:
        """A paying client; all of them share one journal."""
        registry = self.registry_of(payer or self.payer)
        stated: dict[str, Any] = {
            "budget": Budget.of(per_call="1"),
            "journal": self.directory / "payments.db",
        }
        client = AsyncPayingClient(registry, **{**stated, **options})
        self.opened.append(client)
        return client

    def registry_of(self, agent: TestAgent) -> AsyncRegistry:
        registry = AsyncRegistry(self.registry.settings.base_url, agent=credentials_of(agent))
        self.opened.append(registry)
        return registry

    async def token(self, **more: Any) -> Any:
        """A token of the payer for the payee at the price, of a kind that the service accepts unless `more` says so."""
        amount = more.pop("amount", PRICE)
        if not more.keys() & {"capture_by", "reserve"}:
            more |= {"capture_by": "payee"} if self.service.captures else {"reserve": True}
        return await self.registry_of(self.payer).payments.authorize(self.payee.did, amount, **more)

    async def call(
        self, token: Any, path: str = "/work", content: bytes = b"one", **headers: str
    ) -> httpx2.Response:
        """A call with a token, by a client that knows the two headers and nothing else."""
        sent = {"X-Payment-Token": token.token, "X-Payment-Issuer": token.issuer, **headers}
        async with httpx2.AsyncClient(timeout=60) as http:
            return await http.post(self.url + path, content=content, headers=sent)

    async def status_of(self, token: Any) -> str:
        """The status of a token at the registry."""
        return next(one["status"] for one in await self.tokens() if one["token_id"] == token.token_id)

    async def tokens(self) -> list[dict[str, Any]]:
        answer = await self.registry.get("/a2a-payment/my-tokens?limit=200", headers=self.payer.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


def credentials_of(agent: TestAgent) -> AgentCredentials:
    return AgentCredentials(agent.created["client_id"], agent.created["client_secret"])


@asynccontextmanager
async def shop_of(
    registry: TestRegistry,
    directory: Path,
    *,
    captures: bool = True,
    app: Any = None,
    wrap: Any = None,
    **options: Any,
) -> AsyncIterator[Shop]:
    """Serve a paid application; `wrap` makes it of the service and the works."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    payee = await registry.agent(name="Payee", **priced_card(registry, url))
    payer = await registry.agent(name="Payer")
    works = Works()
    stated: dict[str, Any] = {
        "agent_did": payee.did,
        "registry_url": registry.settings.base_url,
        "credentials": credentials_of(payee) if captures else None,
        "store": directory / "paid-calls.db",
        "price": PRICE,
        "signing_key_pem": payee.created["private_key_pem"],
    }
    service = PaidService(**{**stated, **options})
    wrapped = wrap(service, works) if wrap else PaidApp(app or works, service, None)
    async with serving(wrapped, listener):
        shop = Shop(registry, payee, payer, url, works, service, directory)
        try:
            yield shop
        finally:
            for opened in shop.opened:
                await opened.aclose()


def priced_card(registry: TestRegistry, url: str, price: str = PRICE) -> dict[str, Any]:
    interface = {"url": f"{url}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    currency = registry.settings.settlement_currency
    pricing = {"base_rate": price, "currency": currency, "payment_required": True}
    return {"supportedInterfaces": [interface], "pricing": pricing}


async def _lifespan(receive: Any, send: Any) -> None:
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})


async def _send(send: Any, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(send: Any, chunks: list[bytes]) -> None:
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for chunk in chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
