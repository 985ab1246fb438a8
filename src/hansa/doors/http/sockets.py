"""WebSocket connections: uvicorn's protocol, with a line to write to, and an end that no peer can put off.

A peer that does not read gets no answers to its pings, and a message comes in a bounded number of pieces: neither what
a peer sends nor what it leaves unread fills the memory.
"""

import socket
from asyncio import BaseTransport

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.protocol import State

from hansa.doors.http.per_address import Place
from hansa.foundation.plumbing.lines import LINE

GOING_AWAY = 1001
TOO_BIG = 1009
LINGER_SECONDS = 2.0
FRAGMENTS_MAX = 64
UNSENT_BYTES = 16 * 1024
# Left to itself the system keeps megabytes for a peer that does not read.
SEND_BUFFER_BYTES = 128 * 1024


class SocketProtocol(WebSocketsSansIOProtocol):
    """A connection that says 1001 when the process stops.

    A closed transport waits until its peer has read everything, for ever if need be: what lingers is cut off.
    """

    place: Place | None = None
    """Among the connections of its address."""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        transport.set_write_buffer_limits(high=UNSENT_BYTES)  # type: ignore[attr-defined]

    def connection_lost(self, exc: Exception | None) -> None:
        if self.place is not None:
            self.place.free()
        super().connection_lost(exc)

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= FRAGMENTS_MAX:
            self.conn.fail(TOO_BIG, f"a message has at most {FRAGMENTS_MAX} fragments")
            self.handle_parser_exception()
        else:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        pong = b"".join(self.conn.data_to_send())
        if self.writable.is_set():
            self.transport.write(pong)

    def write(self, frames: bytes) -> bool:
        """Send whole frames at once; False, and nothing is sent, while the peer is behind or when it is gone."""
        if not self.writable.is_set() or self._is_over():
            return False
        self.transport.write(frames)
        return True

    async def drained(self) -> bool:
        """Wait until the peer has caught up; False when it is gone."""
        # A ping may have filled the buffer again by the time this task goes on.
        while not self.writable.is_set():
            await self.writable.wait()
        return not self._is_over()

    async def run_asgi(self) -> None:
        self.scope["extensions"][LINE] = self  # type: ignore[assignment]
        await super().run_asgi()
        self._cut_off_soon()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.transport.abort()

    def shutdown(self) -> None:
        if self.handshake_complete and not self._is_over():
            self.stop_keepalive()
            self.queue.put_nowait({"type": "websocket.disconnect", "code": GOING_AWAY})
            self.conn.send_close(GOING_AWAY)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
            self.transport.close()
        else:
            super().shutdown()
        self._cut_off_soon()

    def _is_over(self) -> bool:
        return self.close_sent or self.transport.is_closing() or self.conn.state is not State.OPEN

    def _cut_off_soon(self) -> None:
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)
