"""Places for requests of one kind, which are worked on at once; the others wait in turn, and not for long.

A request asks once its body is there, so that a slow sender holds no place. A request that waits is a line in a queue, and one that is
refused costs little more than reading it: under overload that would be most of the work.

A budget may yield to another: while that one is in use, fewer places are given. The event loop works on everything that
was begun in turn, so the places of one kind are its share of the process.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

PLACES = 500
TIMEOUT_SECONDS = 1.5
IN_USE_SECONDS = 1.0
# A crowd that came together is late together. What has a place goes on between two portions of refusals.
REFUSED_AT_ONCE_MAX = 32
REFUSING_PAUSE_SECONDS = 0.01


class Waiting(NamedTuple):
    """A request that waits for a place until `deadline`, by the monotonic clock."""

    deadline: float
    begin: Callable[[], bool]
    refuse: Callable[[], None]


class Admission:
    """The places of one process. Used by its event loop alone."""

    def __init__(
        self,
        places: int = PLACES,
        timeout_seconds: float = TIMEOUT_SECONDS,
        *,
        yields_to: "Admission | None" = None,
        places_beside: int | None = None,
        is_for_reads: bool = False,
    ) -> None:
        """`places_beside` are given while `yields_to` is in use. The answers to reads may be long."""
        self.is_for_reads = is_for_reads
        self._places = places
        self._places_beside = places if places_beside is None else places_beside
        self._yields_to = yields_to
        self._taken = 0
        self._taken_at = -IN_USE_SECONDS
        self.timeout_seconds = timeout_seconds
        self._waiting: deque[Waiting] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_in_use(self) -> bool:
        """Return whether a place is taken, or was a moment ago."""
        return self._taken > 0 or monotonic() - self._taken_at < IN_USE_SECONDS

    def ask(self, begin: Callable[[], bool], refuse: Callable[[], None]) -> None:
        """Have a request begun as soon as there is a place, in the order of asking, or refused when none becomes free.

        `begin` returns whether it took the place: the client may be gone. A place that was taken is given back by `leave`.
        """
        if not self._waiting and self._has_room():
            self._begin(begin)
            return
        self._waiting.append(Waiting(monotonic() + self.timeout_seconds, begin, refuse))
        if self._timer is None:
            self._look_after(self.timeout_seconds)

    def take(self) -> bool:
        """Take a place if one is free and no request is waiting. Returns whether it was taken."""
        is_free = not self._waiting and self._has_room()
        if is_free:
            self._taken += 1
        return is_free

    def leave(self) -> None:
        """Give a place back; it is the next one's."""
        self._taken -= 1
        if self._taken == 0:
            self._taken_at = monotonic()
        while self._waiting and self._has_room():
            self._begin(self._waiting.popleft().begin)

    def _has_room(self) -> bool:
        beside = self._yields_to
        return self._taken < (
            self._places_beside if beside is not None and beside.is_in_use else self._places
        )

    def _begin(self, begin: Callable[[], bool]) -> None:
        self._taken += 1
        if not begin():
            self._taken -= 1

    def _look_after(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._refuse_the_late)

    def _refuse_the_late(self) -> None:
        self._timer = None
        now = monotonic()
        refused = 0
        while self._waiting and self._waiting[0].deadline <= now and refused < REFUSED_AT_ONCE_MAX:
            self._waiting.popleft().refuse()
            refused += 1
        if self._waiting:
            self._look_after(max(self._waiting[0].deadline - now, REFUSING_PAUSE_SECONDS))
