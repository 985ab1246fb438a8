"""A proxy that passes each connection on to the next backend that takes it, as one in front of several machines does."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

CHUNK_BYTES = 1 << 16


class RoundRobinProxy:
    """Listens on a free port of this machine while it is entered."""

    def __init__(self, backends: list[str]) -> None:
        self._backends = [(parts.hostname, parts.port) for parts in map(urlsplit, backends)]
        self._next = 0
        self._clients: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    def close_connections(self) -> None:
        """Close the connections of all clients: each connects anew, to the next backend in turn."""
        for client in tuple(self._clients):
            client.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        backend = await self._connected()
        if backend is None:
            writer.close()
            return
        self._clients.add(writer)
        try:
            await asyncio.gather(_copy(reader, backend[1]), _copy(backend[0], writer))
        finally:
            self._clients.discard(writer)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in self._backends:
            host, port = self._backends[self._next % len(self._backends)]
            self._next += 1
            with suppress(OSError):
                return await asyncio.open_connection(host, port)
        return None


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while (content := await source.read(CHUNK_BYTES)) and not target.is_closing():
            target.write(content)
            await target.drain()
    target.close()
