"""A registry behind a real socket, for what comes over a network: a shell, a browser."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn

from hansa.doors.http.app import build_app
from hansa.doors.listeners import listen
from hansa.rooms import journal
from hansa.rooms.catalogue.search import SEARCHER
from tests.registry import StartRegistry, TestRegistry, another_process


@asynccontextmanager
async def served(start_registry: StartRegistry, **settings: object) -> AsyncIterator[TestRegistry]:
    """A registry that answers at its own base address."""
    listener = listen("127.0.0.1", 0)
    registry = await start_registry(port=listener.getsockname()[1], **settings)
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


@asynccontextmanager
async def serving(app: Any, listener: socket.socket) -> AsyncIterator[None]:
    """Another application on a socket, with its lifespan."""
    server = _Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=5, lifespan="on"))
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
