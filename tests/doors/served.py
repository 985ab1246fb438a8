"""Registry behind a real socket, for clients that connect over a network: a shell, a browser."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Literal

import uvicorn

from hansa.doors.http.app import build_app
from hansa.doors.serving.listeners import listen
from hansa.rooms import journal
from hansa.rooms.catalogue.search import SEARCHER
from tests.operation.registry_process import free_port
from tests.registry import StartRegistry, TestRegistry, another_process

# Ports of registries that have ended. The next one is founded with the same address, and so is a copy of what was founded.
_PORTS: list[int] = []


@asynccontextmanager
async def served(start_registry: StartRegistry, **settings: object) -> AsyncIterator[TestRegistry]:
    """A registry that answers at its own base address."""
    listener = listen_again()
    port = listener.getsockname()[1]
    registry = await start_registry(port=port, **settings)
    # What is served has a search of its own.
    registry.runtime = another_process(registry.runtime)
    registry.app = build_app(registry.runtime)
    configuration = uvicorn.Config(registry.app, lifespan="off", log_config=None, access_log=False)
    server = _Server(configuration)
    async with (
        SEARCHER.of(registry.runtime).following(),
        journal.LIVE_FEED.of(registry.runtime).following(),
    ):
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await server.ready.wait()
            yield registry
        finally:
            server.should_exit = True
            await task
            use_again(port)


def listen_again() -> socket.socket:
    """A listener at a port that an earlier registry of this process had, or at one that no client is given by chance."""
    while _PORTS:
        with suppress(OSError):
            return listen("127.0.0.1", _PORTS.pop())
    return listen("127.0.0.1", free_port())


def use_again(*ports: int) -> None:
    """Reserve these ports for the next listeners, in their order."""
    _PORTS.extend(reversed(ports))


@asynccontextmanager
async def serving(
    app: Any, listener: socket.socket, *, lifespan: Literal["on", "off"] = "on"
) -> AsyncIterator[None]:
    """Another application on a socket, with its lifespan unless it is left out."""
    server = _Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=5, lifespan=lifespan))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.ready.wait()
        yield
    finally:
        server.should_exit = True
        await task


class _Server(uvicorn.Server):
    """Says when it answers, and leaves signals to the test run."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
