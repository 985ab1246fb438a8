"""HTTP connections: uvicorn's protocol, with the writes of one answer sent at once, and with a budget for each request.

The head and the body of an answer are two writes, each of which would be a system call and a wake-up of the client.

Answers that are long are written piece by piece, as fast as the client reads.

One write of all of it would count as unread at once, also where the client reads: an answer larger than the room of its address would be
cut off for every client.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from hansa.doors.http.admission import Admission
from hansa.doors.http.connection.bounded import BoundedProtocol
from hansa.doors.http.connection.bounds import HEAD_END
from hansa.doors.http.connection.budgets import BUDGETS
from hansa.doors.http.direct_request import HELD_BODY, SEND_WHOLE, SendWhole
from hansa.foundation.plumbing.telemetry.lines import IS_GONE

# A body beyond this is taken from the connection piece by piece, by a request that has begun.
WHOLE_BODY_MAX_BYTES = 1 << 15
# A client that sends more than this behind a request which is refused is not waiting for answers.
SENT_AHEAD_MAX = 4
UNREAD_PAUSE_SECONDS = 0.2

# A longer answer keeps its place while it is written: of a thousand at once, few are written.
LONG_ANSWER_BYTES = 1 << 16
EVENT_STREAM = b"text/event-stream"


class HoldingConnection(Protocol):
    """A connection, and how many bytes of the answer under way are not written to its transport yet."""

    held_bytes: int

    @property
    def flow(self) -> FlowControl: ...


class RequestInPieces:
    """The application for one request, whose long bodies are written piece by piece."""

    __slots__ = ("_app", "_connection", "_send")

    def __init__(self, app: Any, connection: HoldingConnection) -> None:
        self._app, self._connection = app, connection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send = send
        await self._app(scope, receive, self._send_in_pieces)

    async def _send_in_pieces(self, message: Message) -> None:
        body = message.get("body", b"")
        if len(body) <= LONG_ANSWER_BYTES:
            self._before(message)
            await self._send(message)
            return
        try:
            for start in range(0, len(body), LONG_ANSWER_BYTES):
                end = start + LONG_ANSWER_BYTES
                follows = message.get("more_body", False) or end < len(body)
                piece = {**message, "body": body[start:end], "more_body": follows}
                self._connection.held_bytes = max(0, len(body) - end)
                self._before(piece)
                await self._send(piece)
                # The connection writes at the end of this step, and sees only then whether its client is behind.
                await asyncio.sleep(0)
        finally:
            self._connection.held_bytes = 0

    def _before(self, message: Message) -> None:
        """A message is about to be sent."""


class AdmittedRequest(RequestInPieces):
    """The application for one request, which gives its place back once only the client has something left to do.

    It finds `is_gone` under `IS_GONE` in its scope: bytes written for a client that is gone are dropped without an error.
    """

    __slots__ = ("_admission", "_has_left", "_is_gone", "_is_long", "_send_whole")

    def __init__(
        self, app: Any, connection: HoldingConnection, admission: Admission, is_gone: Callable[[], bool]
    ) -> None:
        super().__init__(app, connection)
        self._admission, self._is_gone = admission, is_gone
        self._has_left = self._is_long = False
        self._send_whole: SendWhole | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send_whole = scope.get(SEND_WHOLE)
        scope[SEND_WHOLE], scope[IS_GONE] = self._leave_and_send_whole, self._is_gone
        try:
            await super().__call__(scope, receive, send)
        finally:
            # The request would hold itself.
            del scope[IS_GONE]
            self._leave()

    def _leave(self) -> None:
        if not self._has_left:
            self._has_left = True
            self._admission.leave()

    def _before(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_long = is_long(message)
        elif not message.get("more_body"):
            self._is_long = False
        # A slow reader holds no place.
        if not self._is_long or self._connection.flow.write_paused:
            self._leave()

    def _leave_and_send_whole(self, fields: bytes, body: bytes) -> bool:
        if self._send_whole is None or len(body) > LONG_ANSWER_BYTES:
            return False
        self._leave()
        return self._send_whole(fields, body)


def _held_body(cycle: RequestResponseCycle) -> bytes | None:
    """The whole body of a request, which is not received besides."""
    if cycle.more_body or cycle.disconnected or cycle.waiting_for_100_continue:
        return None
    return bytes(cycle.body)


class GatheredWrites:
    """A transport whose writes leave together, at the end of the step that made them."""

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        lingers: Callable[[], bool] = lambda: False,
    ) -> None:
        """`lingers` is asked before the transport is closed: it returns whether the connection ends by itself later."""
        self._lingers = lingers
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []
        # Asked several times for each request.
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def write_whole(self, data: bytes) -> None:
        """Write bytes that nothing follows in the same step: where nothing waits, there is nothing to gather them with."""
        if self._waiting:
            self._waiting.append(data)
        elif not self.is_closing():
            self._transport.write(data)

    def write_eof(self) -> None:
        self._flush()
        self._transport.write_eof()

    def close(self) -> None:
        self._flush()
        if not self._lingers():
            self._transport.close()

    def _flush(self) -> None:
        if self._waiting:
            # The connection may have been cut off in the same step: its transport then takes nothing any more.
            if not self.is_closing():
                self._transport.write(b"".join(self._waiting))
            self._waiting.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class ConnectionProtocol(BoundedProtocol):
    """A connection whose answers are written with one call, and whose requests begin when there is a place for them."""

    _incomplete: tuple[RequestResponseCycle, Any, Admission] | None = None
    """A request whose body is still being received."""
    _fields: Sequence[tuple[bytes, bytes]] = ()
    _first_lines = b""
    """How an answer with status 200 and these fields of every answer begins; they change once a second."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._bare_transport = transport
        self._gathered = GatheredWrites(transport, self.loop, self._lingers_in_a_body)
        self.transport = self._gathered  # type: ignore[assignment]
        self._budgets = BUDGETS.of(self.app.state.runtime)

    def _lingers_in_a_body(self) -> bool:
        """Let a client read the answer that came in the middle of its body: closing would reset the connection."""
        if self._is_over or not self._in_body or self.cycle is None or not self.cycle.response_complete:
            return False
        self._linger()
        return True

    def handle_websocket_upgrade(self) -> None:
        # A socket frames and gathers for itself.
        self.transport = self._bare_transport
        super().handle_websocket_upgrade()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._under_way = cycle
        scope = cycle.scope
        admission = self._budgets.admission_for(scope["method"], scope["path"])
        if admission is None or cycle.waiting_for_100_continue:
            self._begin(cycle, RequestInPieces(app, self))
        elif cycle.more_body:
            self._incomplete = (cycle, app, admission)
        else:
            self._ask(cycle, app, admission)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self._incomplete is not None and len(self._incomplete[0].body) > WHOLE_BODY_MAX_BYTES:
            (cycle, app, _), self._incomplete = self._incomplete, None
            self._begin(cycle, RequestInPieces(app, self))

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self._incomplete is not None:
            waiting, self._incomplete = self._incomplete, None
            self._ask(*waiting)

    def _begin(self, cycle: RequestResponseCycle, app: Any) -> None:
        scope: Scope = cycle.scope  # type: ignore[assignment]
        scope[SEND_WHOLE], scope[HELD_BODY] = partial(self._send_whole, cycle), partial(_held_body, cycle)
        super()._start_asgi_task(cycle, app)

    def _ask(self, cycle: RequestResponseCycle, app: Any, admission: Admission) -> None:
        if cycle.disconnected or self._is_cut_off_as_blocked():
            return
        admitted = AdmittedRequest(app, self, admission, lambda: cycle.disconnected)
        is_held_up = admission.is_for_reads and self._has_unread_answers_at_its_address()
        if not is_held_up and admission.take():
            self._begin(cycle, admitted)
        else:
            self._ask_until(self.loop.time() + admission.timeout_seconds, cycle, admitted, admission)

    def _ask_until(
        self, late_at: float, cycle: RequestResponseCycle, admitted: Any, admission: Admission
    ) -> None:
        def begin() -> bool:
            if cycle.disconnected or self._is_cut_off_as_blocked():
                return False
            if admission.is_for_reads and self._has_unread_answers_at_its_address():
                if self.loop.time() < late_at:
                    # Functions that refer to each other would hold all of the request until garbage is collected.
                    self.loop.call_later(
                        UNREAD_PAUSE_SECONDS, self._ask_until, late_at, cycle, admitted, admission
                    )
                else:
                    self._refuse_for_now(cycle)
                return False
            self._begin(cycle, admitted)
            return True

        admission.ask(begin, lambda: self._refuse_for_now(cycle))

    def _has_unread_answers_at_its_address(self) -> bool:
        address = self.place.address if self.place is not None else None
        return address is not None and self._bounds.unsent.is_crowded(address)

    def _send_whole(self, cycle: RequestResponseCycle, fields: bytes, body: bytes) -> bool:
        """Send a complete answer with status 200, as the cycle would; False where that takes more than one write."""
        if (
            cycle.disconnected
            or cycle.response_started
            or cycle.waiting_for_100_continue
            or cycle.flow.write_paused
            or cycle.scope["method"] == "HEAD"
            or len(body) > LONG_ANSWER_BYTES
        ):
            return False
        cycle.response_started = cycle.response_complete = True
        if cycle.default_headers is not self._fields:
            self._fields = cycle.default_headers
            self._first_lines = STATUS_LINE[200] + b"".join([b"%b: %b\r\n" % field for field in self._fields])
        closing = b"" if cycle.keep_alive else b"connection: close\r\n"
        self._gathered.write_whole(b"%b%b%b\r\n%b" % (self._first_lines, fields, closing, body))
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()
        return True

    def _refuse_for_now(self, cycle: RequestResponseCycle) -> None:
        """Answer that there is no place, as the application would; nothing of it is asked."""
        if cycle.disconnected or self._is_cut_off_as_blocked():
            return
        if self._ahead.count(HEAD_END) > SENT_AHEAD_MAX:
            # It would only be refused again, once for each request that it sent without waiting for an answer.
            self._note_refusal()
            cycle.keep_alive = False
        had_answered = self._has_answered
        asked, keeps_alive = cycle.scope, cycle.keep_alive
        cycle.response_started = cycle.response_complete = True
        self.transport.write(
            self._budgets.refusal(asked["method"], asked["path"], asked["headers"], keeps_alive=keeps_alive)
        )
        if not keeps_alive:
            self.transport.close()
        cycle.on_response()
        # A client that was only ever sent away has nothing to lose when its address is blocked.
        self._has_answered = had_answered


def is_long(started: Message) -> bool:
    """Return whether an answer may be long and ends: it states so many bytes, or it is sent in pieces and is no stream of events."""
    fields = {name.lower(): value for name, value in started["headers"]}
    if (length := fields.get(b"content-length")) is not None:
        return int(length) > LONG_ANSWER_BYTES
    return not fields.get(b"content-type", b"").startswith(EVENT_STREAM)
