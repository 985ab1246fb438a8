"""A service of the demo: it answers messages of A2A, is paid per call, and runs in the process of the demo."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec
import uvicorn

START_SECONDS = 60


class EchoService(msgspec.Struct):
    """An ASGI application without payment; `texts` are those it worked on."""

    texts: list[str] = msgspec.field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one JSON-RPC request with the text of its message."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        call = json.loads((await receive())["body"])
        self.texts.append(call["params"]["message"]["parts"][0]["text"])
        parts = [{"text": f"echo {self.texts[-1]}"}]
        reply = {"messageId": "1", "role": "ROLE_AGENT", "parts": parts}
        body = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": {"message": reply}}).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def listening(app: Any, listener: socket.socket) -> AsyncIterator[None]:
    """Serve an application on a socket."""
    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="on", timeout_graceful_shutdown=5
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(START_SECONDS):
            await server.ready.wait()
        yield
    finally:
        server.should_exit = True
        await task


class _Server(uvicorn.Server):
    """Leaves signals to the demo, and says when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _lifespan(receive: Any, send: Any) -> None:
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})
