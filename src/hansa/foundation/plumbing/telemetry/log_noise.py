"""Log noise is bounded: of one kind of trouble one line a second is written, and then how many were left out.

- Lines of level warning and above are of a kind by their event and code; so are answers with a status of 400 and above,
  whatever their level. Everything else is written as it comes.
- The omitted lines are counted in the next line of its kind, or by a line of its own when none comes within a second.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

PAUSE_SECONDS = 1.0
KINDS_MAX = 500
REFUSED_STATUS = 400

Kind: TypeAlias = tuple[object, ...]


class Seen(msgspec.Struct):
    """One kind of line: when one was written last, and how many were left out since."""

    level: int
    written_at: float
    suppressed: int = 0


class NoiseFilter(logging.Filter):
    """Drops lines of a kind that was written within the last second, and counts them. Used by any thread."""

    def __init__(
        self, pause_seconds: float = PAUSE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[Kind, Seen] = {}
        self._timer: threading.Timer | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is written."""
        kind = _kind_of(record)
        if kind is None:
            return True
        now = self._clock()
        with self._lock:
            seen = self._seen.get(kind)
            if seen is not None and now - seen.written_at < self._pause_seconds:
                seen.suppressed += 1
                self._report_soon()
                return False
            self._seen.pop(kind, None)
            self._seen[kind] = Seen(record.levelno, now)
            if len(self._seen) > KINDS_MAX:
                del self._seen[next(iter(self._seen))]
        if seen is not None and seen.suppressed and isinstance(record.msg, dict):
            record.msg["suppressed"] = seen.suppressed
        return True

    def _report_soon(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(self._pause_seconds, self.report)
            self._timer.daemon = True
            self._timer.start()

    def report(self) -> None:
        """Write how many lines of each kind were left out, where no later line of the kind has counted it."""
        now = self._clock()
        with self._lock:
            self._timer = None
            left_out = {kind: seen for kind, seen in self._seen.items() if seen.suppressed}
            for seen in left_out.values():
                if now - seen.written_at < self._pause_seconds:
                    self._report_soon()
            due = {
                kind: (seen.level, seen.suppressed)
                for kind, seen in left_out.items()
                if now - seen.written_at >= self._pause_seconds
            }
            for kind in due:
                self._seen[kind] = Seen(self._seen[kind].level, now)
        for kind, (level, suppressed) in due.items():
            _log.log(level, "lines suppressed: %d like %s", suppressed, " ".join(map(str, kind)))


# Its lines are of no kind: each is written.
_log = logging.getLogger("hansa.log_noise")


def _kind_of(record: logging.LogRecord) -> Kind | None:
    """Return the kind under which a line is counted; None where it is always written."""
    if record.name == _log.name:
        return None
    event: dict[str, Any] = record.msg if isinstance(record.msg, dict) else {"event": record.msg}
    status = event.get("status")
    is_refusal = isinstance(status, int) and status >= REFUSED_STATUS
    if record.levelno < logging.WARNING and not is_refusal:
        return None
    kind = (
        event.get("event"),
        event.get("code"),
        status,
        _exception_of(event.get("exc_info") or record.exc_info),
    )
    return tuple(part for part in kind if part is not None)


def _exception_of(error: object) -> str | None:
    raised = sys.exc_info()[1] if error is True else error[1] if isinstance(error, tuple) else error
    return type(raised).__name__ if isinstance(raised, BaseException) else None
