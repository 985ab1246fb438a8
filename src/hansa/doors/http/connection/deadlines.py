"""Deadlines of connections: one timer for all of them, not one timer for each.

- Connections are filed in buckets of one tick. Moving a deadline later only sets a number: the connection is filed again
  when its bucket comes up. So a busy connection costs two assignments for each request.
- Connections that are overdue together are dealt with a few at a time: ending one is an answer and a line of the log.
- Time is counted in ticks of this process. While the event loop is late, no tick passes, and no client is cut off for it.
"""

import asyncio
import sys
from itertools import islice
from typing import Protocol

TICK_SECONDS = 1.0
OVERDUE_AT_ONCE_MAX = 32
OVERDUE_PAUSE_SECONDS = 0.01
NEVER = sys.maxsize


class Timed(Protocol):
    """Something with a deadline. `due` and `filed` start at NEVER and are written by `Deadlines` alone."""

    due: int
    filed: int

    def overdue(self) -> None:
        """The deadline has passed. A new one may be set from here. Must not raise."""


class Deadlines:
    """The deadlines of one process. Used by its event loop alone."""

    def __init__(self, tick_seconds: float = TICK_SECONDS) -> None:
        self._tick_seconds = tick_seconds
        self._now = 0
        self._buckets: dict[int, set[Timed]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._late: dict[Timed, None] = {}
        """Overdue, and not dealt with yet."""
        self._is_ending = False

    def arm(self, timed: Timed, ticks: int) -> None:
        """The deadline is this many ticks from now, and never less than that; the earlier one no longer counts."""
        # The tick under way has begun already.
        timed.due = self._now + ticks + 1
        self._late.pop(timed, None)
        if timed.due < timed.filed:
            self._file(timed)

    def clear(self, timed: Timed) -> None:
        """No deadline."""
        timed.due = NEVER
        self._late.pop(timed, None)

    def forget(self, timed: Timed) -> None:
        """No deadline, and no reference is kept."""
        self.clear(timed)
        self._unfile(timed)

    def _file(self, timed: Timed) -> None:
        self._unfile(timed)
        timed.filed = timed.due
        self._buckets.setdefault(timed.due, set()).add(timed)
        if self._timer is None:
            self._wait()

    def _unfile(self, timed: Timed) -> None:
        if (bucket := self._buckets.get(timed.filed)) is not None:
            bucket.discard(timed)
        timed.filed = NEVER

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._tick_seconds, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._now += 1
        for timed in self._buckets.pop(self._now, ()):
            timed.filed = NEVER
            if timed.due <= self._now:
                timed.due = NEVER
                self._late[timed] = None
            elif timed.due != NEVER:
                self._file(timed)
        if self._buckets and self._timer is None:
            self._wait()
        self._end_some()

    def _end_some(self) -> None:
        for timed in list(islice(self._late, OVERDUE_AT_ONCE_MAX)):
            # The end of one may be the end of another.
            if self._late.pop(timed, timed) is None:
                timed.overdue()
        if self._late and not self._is_ending:
            self._is_ending = True
            asyncio.get_running_loop().call_later(OVERDUE_PAUSE_SECONDS, self._go_on_ending)

    def _go_on_ending(self) -> None:
        self._is_ending = False
        self._end_some()
