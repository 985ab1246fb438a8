"""WebSocket connections: uvicorn's protocol, with a line to write to, and an end that no peer can put off.

- A peer that does not read gets no answers to its pings, and a message comes in a bounded number of pieces: neither the bytes
  that a peer sends nor those that it leaves unread fill the memory.
- Frames are parsed in small portions, and none after the end: thousands of empty frames in one packet take no longer
  than those that are still taken.
- A handshake that is refused is a line of level info in the log, without its address, which may hold a ticket.
- A peer that sends too many frames, or frames that are refused, or does not read, counts against its address.
"""

import socket
from asyncio import BaseTransport
from typing import Any

import structlog
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.protocol import State

from hansa.doors.http.connection.per_address import Place
from hansa.foundation.plumbing.telemetry.lines import LINE
from hansa.foundation.plumbing.telemetry.metrics import connections_cut_off_total

GOING_AWAY = 1001
POLICY_VIOLATION = 1008
NO_UTF8 = 1007
TOO_BIG = 1009
LINGER_SECONDS = 2.0
FRAGMENTS_MAX = 64
PARSED_AT_ONCE_BYTES = 256
# A client asks for all its channels in one go.
FRAMES_SPARE = 256
FRAMES_SPARE_BLOCKED = 16
FRAMES_PER_SECOND = 20
UNSENT_BYTES = 16 * 1024
# Left to itself the system keeps megabytes for a peer that does not read.
SEND_BUFFER_BYTES = 128 * 1024

_log = structlog.get_logger()


class SocketProtocol(WebSocketsSansIOProtocol):
    """A connection that says 1001 when the process stops.

    A closed transport waits until its peer has read everything, for ever if need be: a lingering one is cut off.
    """

    place: Place | None = None
    """Among the connections of its address."""

    _frames = 0.0
    """Frames received, less those that the time since has made room for."""
    _counted_at = 0.0

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        transport.set_write_buffer_limits(high=UNSENT_BYTES)  # type: ignore[attr-defined]

    def connection_lost(self, exc: Exception | None) -> None:
        if self.place is not None:
            self.place.free()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PARSED_AT_ONCE_BYTES):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + PARSED_AT_ONCE_BYTES])

    def handle_events(self) -> None:
        now = self.loop.time()
        self._frames = max(0.0, self._frames - (now - self._counted_at) * FRAMES_PER_SECOND)
        self._frames += len(self.conn.events)
        self._counted_at = now
        is_blocked = self.place is not None and self.place.is_blocked
        if self._frames > (FRAMES_SPARE_BLOCKED if is_blocked else FRAMES_SPARE):
            self._fail(POLICY_VIOLATION, f"at most {FRAMES_PER_SECOND} frames a second are taken")
            return
        super().handle_events()
        # What is left are the answers to pings.
        pongs = b"".join(self.conn.data_to_send())
        if pongs and self.writable.is_set() and not self.transport.is_closing():
            self.transport.write(pongs)

    def handle_cont(self, event: Frame) -> None:
        if self.transport.is_closing():
            return
        if len(self.frames) >= FRAGMENTS_MAX:
            self._fail(TOO_BIG, f"a message has at most {FRAGMENTS_MAX} fragments")
        else:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                # Without this the server logs an exception with its trace for each of them.
                self._fail(NO_UTF8, "a text message is UTF-8")
                return
        super().send_receive_event_to_app()

    def _fail(self, code: int, reason: str) -> None:
        self.conn.fail(code, reason)
        self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        self._note_refusal("socket_refused")
        if self.conn.close_sent is None:
            # The handshake is not answered yet: there is nothing to close in the words of the protocol.
            self.transport.abort()
        else:
            super().handle_parser_exception()

    def _note_refusal(self, reason: str) -> None:
        connections_cut_off_total.labels(reason).inc()
        if self.place is not None:
            self.place.note_refusal()

    def handle_ping(self) -> None:
        """The answer waits for the others of its portion: a write for each would cost more than the parsing."""

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

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and self.close_sent and self.initial_response:
            # The server would log an error: it takes a handshake that is refused by a response for one without an answer.
            self.handshake_complete = True
            _log.info("socket refused", status=self.initial_response[0])

    async def run_asgi(self) -> None:
        self.scope["extensions"][LINE] = self  # type: ignore[assignment]
        await super().run_asgi()
        if not self.writable.is_set():
            self._note_refusal("slow_reader")
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
