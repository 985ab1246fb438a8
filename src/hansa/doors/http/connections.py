"""HTTP connections: uvicorn's protocol, with what one answer writes sent at once.

The head and the body of an answer are two writes, each of which would be a system call and a wake-up of the client.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class GatheredWrites:
    """A transport whose writes leave together, at the end of the step that made them."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._waiting:
            self._transport.write(b"".join(self._waiting))
            self._waiting.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class ConnectionProtocol(HttpToolsProtocol):
    """A connection whose answers are written with one call."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._bare_transport = transport
        self.transport = GatheredWrites(transport, self.loop)  # type: ignore[assignment]

    def handle_websocket_upgrade(self) -> None:
        # A socket frames and gathers for itself.
        self.transport = self._bare_transport
        super().handle_websocket_upgrade()
