"""The end of a connection: refused with a problem document, closed behind its last answer, or cut off.

- A connection that is refused gets a problem document and time to read it. Its further bytes are read and dropped, unparsed: many clients
  send all of a body before they read, and unread bytes would reset the connection and destroy the answer. Time and rate are bounded,
  the size is not: a client cannot know how much of its body would be read.
- A request that is refused waits for the answers that are still due before it.
"""

from abc import abstractmethod

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hansa.doors.http.connection.bounds import (
    LINGER_BYTES,
    LINGERS_MAX,
    PATH_SHOWN_BYTES,
    ConnectionBounds,
    ReadingFlow,
)
from hansa.doors.http.connection.budgets import closing_answer
from hansa.doors.http.connection.per_address import Place
from hansa.doors.http.connection.strict_head import ConnectionRefused
from hansa.doors.http.guard import METHODS, answers_of
from hansa.foundation.plumbing.telemetry.metrics import begin, connections_cut_off_total

_log = structlog.get_logger()
begin(connections_cut_off_total, ("head_timeout", "body_timeout", "slow_reader"))


class EndingProtocol(HttpToolsProtocol):
    """One connection, as far as its end goes."""

    place: Place | None = None
    """Among the connections of its address."""
    flow: ReadingFlow

    _bounds: ConnectionBounds
    _under_way: RequestResponseCycle
    """The request that was begun last, or waits for its place."""
    _in_body = False
    _is_over = False
    """Nothing that still comes is read: an answer is being sent, or none is owed."""
    _dropped_bytes = 0
    _lingers = 0
    """How often the connection was given another while since it was refused."""

    def cut_off(self) -> None:
        """End at once; unsent bytes are dropped."""
        self._log_end("slow_reader")
        self._note_refusal()
        self.transport.abort()

    @abstractmethod
    def _wait_for_what_is_next(self) -> None:
        """Set the deadline of the connection's present wait."""

    def _drop(self, data: bytes) -> None:
        self._dropped_bytes += len(data)
        pause_seconds = self._bounds.discarding.take(len(data))
        if pause_seconds and not self.flow.read_paused:
            self.flow.pause_reading()
            self.loop.call_later(pause_seconds, self._go_on_dropping)

    def _go_on_dropping(self) -> None:
        if not self.transport.is_closing():
            self.flow.resume_reading()

    def _refuse(self, refused: ConnectionRefused) -> None:
        """Answer with a problem document, behind the answers that are still due, and end."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            # The request under way may be the refused one: then its body is what is wrong.
            if self.pipeline or not self._in_body:
                self._note_refusal()
                self._end_after_the_answers()
                return
            if cycle.response_started:
                self.transport.abort()
                return
            cycle.response_started = cycle.response_complete = cycle.disconnected = True
            cycle.message_event.set()
        elif cycle is not None and self._in_body:
            # It is answered already, and what is wrong is the rest of its body.
            self._note_refusal()
            self._linger()
            return
        method, path = self._method_and_path()
        self._note_refusal()
        answers_of(method, "unmatched", refused.status).inc()
        _log.info("connection refused", status=refused.status, code=refused.code, reason=refused.detail)
        self.transport.write(closing_answer(self.app, method, path, refused))
        self._linger()

    def _note_refusal(self) -> None:
        if self.place is not None:
            self.place.note_refusal()

    def _method_and_path(self) -> tuple[str, str]:
        """Method and path, as far as they are known."""
        if not self.scope:
            return "other", "/"
        method = self.scope.get("method", "other")
        path = self.url.partition(b"?")[0][:PATH_SHOWN_BYTES].decode("ascii", "replace")
        return method if method in METHODS else "other", path or "/"

    def _end_after_the_answers(self) -> None:
        self._is_over = True
        self.flow.pause_reading()
        last = self.pipeline[0][0] if self.pipeline else self._under_way
        if last.response_complete:
            self._close()
        else:
            last.keep_alive = False

    def _linger(self) -> None:
        """Let the client read: closing while it still sends would reset the connection and destroy the answer."""
        if self._is_over:
            return
        self._is_over = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self._wait_for_what_is_next()

    def _goes_on_lingering(self, dropped_before: int) -> bool:
        """Return whether the client still sends enough to be waited for; bytes that are not read for now do not count against it."""
        self._lingers += 1
        is_going_on = self.flow.read_paused or self._dropped_bytes - dropped_before >= LINGER_BYTES
        return self._lingers <= LINGERS_MAX and is_going_on

    def _close(self) -> None:
        self._is_over = True
        self.transport.close()
        self._wait_for_what_is_next()

    def _log_end(self, reason: str) -> None:
        connections_cut_off_total.labels(reason).inc()
        _log.info("connection cut off", reason=reason, client=self.client and self.client[0])
