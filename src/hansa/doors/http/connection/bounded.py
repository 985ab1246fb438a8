"""HTTP connection with limits on size and time: uvicorn's protocol with bounds.

- A head is bounded in bytes and fields before it is kept, and judged before the request is begun.
- The framing of a body (chunk sizes, extensions, trailers) is bounded; trailers are not read.
- A head, a body, a next request and the reading of an answer each have a deadline.
- While the client does not read its answers, nothing more is read from it. Requests that it sends ahead are not parsed before their turn.
- A connection from a blocked address that has no answer under way closes at its next input, and before a request
  that waited for its place is begun.
- An address holds so many WebSockets, and opens so many a second.
- How it ends stands in `connection_ends`.
"""

import asyncio
import sys
from typing import cast

import httptools
import structlog

from hansa.doors.http.connection.bounds import (
    CHUNK_BYTES_MEAN,
    CHUNK_OVERHEAD_BYTES,
    CONNECTION_BOUNDS,
    FED_AT_ONCE_BYTES,
    HEAD_END,
    HEAD_SECONDS,
    LENGTH_MAX_DIGITS,
    LINGER_SECONDS,
    PIPELINED_MAX,
    PROGRESS_BYTES,
    PROGRESS_SECONDS,
    SPARE_CHUNKS,
    SPARE_OVERHEAD_BYTES,
    UNWANTED_BODY_MAX_BYTES,
    Phase,
    ReadingFlow,
)
from hansa.doors.http.connection.deadlines import NEVER
from hansa.doors.http.connection.ends import EndingProtocol
from hansa.doors.http.connection.strict_head import (
    FIELDS_MAX,
    HEAD_MAX_BYTES,
    MESSAGE_MAX_BYTES,
    SINGLE_FIELDS,
    ConnectionRefused,
    body_is_too_large,
    head_is_too_large,
    malformed,
    require_own_target,
    require_plain_coding,
    require_room,
    require_strict,
    too_many_sockets,
    too_slow,
)
from hansa.doors.http.connection.websockets import SocketProtocol
from hansa.foundation.plumbing.telemetry.metrics import connections_cut_off_total

_log = structlog.get_logger()


class BoundedProtocol(EndingProtocol):
    """One connection."""

    due = NEVER
    filed = NEVER

    _phase = Phase.HEAD
    _has_answered = False
    _in_head = True
    _head_bytes = 0
    _announced_bytes = 0
    """The length of the body by its header field."""
    _body_bytes = 0
    _wanted_bytes = 0
    """What had come of the body when it was answered."""
    _framed_bytes = 0
    _chunks = 0
    _progress = 0
    """Bytes of the body, or unsent ones, at the last look."""
    held_bytes = 0
    """Of the answer under way: bytes that are not written yet."""
    _ahead = b""
    """What came behind a request that has no answer yet."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = ReadingFlow(transport)
        self._bounds = CONNECTION_BOUNDS.of(self.app.state.runtime)
        self._bounds.deadlines.arm(self, HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._bounds.deadlines.forget(self)
        self._bounds.unsent.remove(self)
        if self.place is not None:
            self.place.free()
        super().connection_lost(exc)

    # What comes in.

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            self._drop(data)
            return
        if self._is_cut_off_as_blocked():
            return
        if self._ahead:
            self._keep_ahead(self._ahead + data)
        else:
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        fed = 0
        while fed < len(data):
            if self._is_behind_another():
                self._keep_ahead(data[fed:])
                return
            # Small portions: what is refused in one of them ends the work on all that came with it.
            portion = min(FED_AT_ONCE_BYTES, HEAD_MAX_BYTES - self._head_bytes)
            if portion <= 0:
                self._refuse(head_is_too_large())
                return
            if self._in_head and (end := data.find(HEAD_END, fed, fed + portion)) >= 0:
                portion = end + len(HEAD_END) - fed
            self._feed(data[fed : fed + portion])
            fed += portion
            if self._is_over:
                self._drop(data[fed:])
                return
        self._wait_for_what_is_next()

    def _is_behind_another(self) -> bool:
        """Return whether the next bytes are a request, and the one before it has no answer yet."""
        cycle = self.cycle
        return self._in_head and not self._head_bytes and cycle is not None and not cycle.response_complete

    def _keep_ahead(self, data: bytes) -> None:
        """Keep bytes that came ahead: parsing a request costs more than most of the other work on one that is refused later."""
        self._ahead = data
        if data.count(HEAD_END) > PIPELINED_MAX:
            # Answering them would be work for a client that cannot be waiting for it.
            self._ahead = b""
            self._refuse(malformed("Too many pipelined requests."))
        else:
            self.flow.pause_reading()
            self._wait_for_what_is_next()

    def _go_on_with_what_is_ahead(self) -> None:
        if self._is_over or self.transport.is_closing() or self._is_behind_another():
            return
        ahead, self._ahead = self._ahead, b""
        self._parse(ahead)
        if not self._ahead and not self._is_over:
            self.flow.resume_reading()

    def _is_cut_off_as_blocked(self) -> bool:
        """End the connection where its address is blocked and nothing was answered on it yet."""
        if self._has_answered or self.place is None or not self.place.is_blocked:
            return False
        connections_cut_off_total.labels("blocked_address").inc()
        self.transport.abort()
        return True

    def _feed(self, data: bytes) -> None:
        was_in_head, was_in_body, cycle = self._in_head, self._in_body, self.cycle
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._upgrade()
            return
        except httptools.HttpParserError as error:
            cause = error.__context__
            self._refuse(
                cause if isinstance(cause, ConnectionRefused) else malformed("This is not valid HTTP/1.1.")
            )
            return
        is_same = cycle is self.cycle
        self._head_bytes = self._head_bytes + len(data) if was_in_head and self._in_head and is_same else 0
        if self._in_body:
            self._framed_bytes += len(data) if was_in_body and is_same else 0
            self._require_plain_framing()

    def _upgrade(self) -> None:
        if self._should_upgrade():
            self.handle_websocket_upgrade()
        else:
            # The request is answered as it is. Where its body ends, the parser no longer knows.
            self._end_after_the_answers()

    def handle_websocket_upgrade(self) -> None:
        if self.place is not None and (refusal := self.place.become_socket()):
            # What is under way is an earlier request, whose answer comes first.
            self._in_body = False
            self._refuse(too_many_sockets(refusal))
            return
        place, self.place = self.place, None
        self._is_over = True
        self._bounds.deadlines.forget(self)
        super().handle_websocket_upgrade()
        cast(SocketProtocol, self.transport.get_protocol()).place = place

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED_MAX:
            # None of these has begun. Answering them would be work for a client that cannot be waiting for it.
            self.pipeline.clear()
            raise malformed("Too many pipelined requests.")
        self._announced_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return
        name = name.lower()
        if len(self.headers) >= FIELDS_MAX or name in SINGLE_FIELDS:
            require_room(self.headers, name)
        if name == b"content-length":
            self._announced_bytes = int(value) if len(value) <= LENGTH_MAX_DIGITS else sys.maxsize
            if self._announced_bytes > MESSAGE_MAX_BYTES:
                raise body_is_too_large()
        elif name == b"transfer-encoding":
            require_plain_coding(value)
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        require_strict(self.parser.get_http_version(), self.headers)
        require_own_target(self.url)
        self._in_head, self._in_body = False, True
        self._body_bytes = self._framed_bytes = self._chunks = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_chunk_header(self) -> None:
        """A chunk begins; the last one, which is empty, too."""
        self._chunks += 1

    def on_message_complete(self) -> None:
        self._in_head, self._in_body = True, False
        super().on_message_complete()

    def _require_plain_framing(self) -> None:
        """The body is sent as a body, not as a stream of chunk sizes, extensions or trailers."""
        overhead = self._framed_bytes - self._body_bytes
        if (
            overhead > SPARE_OVERHEAD_BYTES + CHUNK_OVERHEAD_BYTES * self._chunks
            or self._chunks > SPARE_CHUNKS + self._body_bytes // CHUNK_BYTES_MEAN
        ):
            self._refuse(
                malformed("The body is sent in too many small chunks, or with too much between them.")
            )
        elif self._framed_bytes > MESSAGE_MAX_BYTES:
            self._refuse(body_is_too_large())
        elif self._in_body and self.cycle.response_complete:
            self._require_little_unwanted(self._body_bytes)

    def _require_little_unwanted(self, body_bytes: int) -> None:
        """Read a body after the answer up to a bound, so that the connection can be used again; beyond it the connection lingers."""
        if body_bytes - self._wanted_bytes > UNWANTED_BODY_MAX_BYTES:
            self._note_refusal()
            self._linger()

    # What goes out.

    def on_response_complete(self) -> None:
        self._has_answered = True
        self.server_state.total_requests += 1
        if self._in_body and self.cycle.response_complete and not self.transport.is_closing():
            self._wanted_bytes = self._body_bytes
            self._require_little_unwanted(self._announced_bytes)
        if not self.transport.is_closing():
            if self.pipeline:
                cycle, app = self.pipeline.pop()
                self._start_asgi_task(cycle, app)
            if self._ahead:
                # The answer is not written yet: this is called in the middle of it.
                self.loop.call_soon(self._go_on_with_what_is_ahead)
            elif not self._is_over:
                self.flow.resume_reading()
        self._wait_for_what_is_next()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._bounds.unsent.add(self, self.place.address if self.place is not None else None)
        self._wait_for_what_is_next()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._bounds.unsent.remove(self)
        self._wait_for_what_is_next()

    def unsent_bytes(self) -> int:
        """How many bytes wait for the client."""
        return self.transport.get_write_buffer_size() + self.held_bytes

    # Deadlines.

    def _wait_for_what_is_next(self) -> None:
        phase = self._what_is_next()
        if phase is self._phase and phase is not Phase.NEXT:
            return
        self._phase = phase
        deadlines = self._bounds.deadlines
        if phase is Phase.WORK:
            deadlines.clear(self)
        elif phase is Phase.NEXT:
            deadlines.arm(self, int(self.timeout_keep_alive))
        elif phase is Phase.HEAD:
            deadlines.arm(self, HEAD_SECONDS)
        elif phase is Phase.END:
            self._progress = self._dropped_bytes
            deadlines.arm(self, PROGRESS_SECONDS if self.unsent_bytes() else LINGER_SECONDS)
        else:
            self._progress = self._body_bytes if phase is Phase.BODY else self.unsent_bytes()
            deadlines.arm(self, PROGRESS_SECONDS)

    def _what_is_next(self) -> Phase:
        cycle = self.cycle
        if self.flow.write_paused:
            return Phase.READER
        if self.transport.is_closing():
            return Phase.END
        if self._in_body and not self._is_over:
            return Phase.BODY
        if cycle is not None and not cycle.response_complete:
            return Phase.WORK
        if self._is_over:
            return Phase.END
        return Phase.NEXT if cycle is not None and not self._head_bytes else Phase.HEAD

    def overdue(self) -> None:
        """The client took too long."""
        if self._phase is Phase.END and not self.unsent_bytes():
            if self.transport.is_closing() or not self._goes_on_lingering(self._progress):
                self.transport.abort()
                return
            self._progress = self._dropped_bytes
            self._bounds.deadlines.arm(self, LINGER_SECONDS)
        elif self._phase is Phase.END:
            self.cut_off()
        elif self._phase is Phase.READER:
            self._look_at(self._progress - self.unsent_bytes(), self.unsent_bytes())
        elif self._phase is Phase.BODY:
            self._look_at(self._body_bytes - self._progress, self._body_bytes)
        elif self._head_bytes:
            self._log_end("head_timeout")
            self._refuse(
                too_slow(f"The request line and header fields did not come within {HEAD_SECONDS} seconds.")
            )
        else:
            self._close()

    def _look_at(self, moved_bytes: int, now_bytes: int) -> None:
        """Extend the deadline of a client that goes on; bytes that wait for the server do not count against it."""
        if moved_bytes >= PROGRESS_BYTES or (self._phase is Phase.BODY and self._holds_up_the_body()):
            self._progress = now_bytes
            self._bounds.deadlines.arm(self, PROGRESS_SECONDS)
        elif self._phase is Phase.READER:
            self.cut_off()
        else:
            self._log_end("body_timeout")
            self._refuse(
                too_slow(f"The body moved by less than {PROGRESS_BYTES} bytes in {PROGRESS_SECONDS} seconds.")
            )

    def _holds_up_the_body(self) -> bool:
        return self.flow.read_paused or (
            not self.cycle.response_complete and self.cycle.waiting_for_100_continue
        )
