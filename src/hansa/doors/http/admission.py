"""How many requests of the hot routes are worked on at once; the others wait in turn, and not for long.

A request asks once its body is there, so that a slow sender holds no place. Who waits is a line in a queue, and who is
refused costs little more than reading what was asked: under overload that is what most of the work would be.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

PLACES = 500
PATIENCE_SECONDS = 1.5


class Waiting(NamedTuple):
    """A request that waits for a place until `deadline`, by the monotonic clock."""

    deadline: float
    begin: Callable[[], bool]
    refuse: Callable[[], None]


class Admission:
    """The places of one process. Used by its event loop alone."""

    def __init__(self, places: int = PLACES, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._free = places
        self._patience_seconds = patience_seconds
        self._waiting: deque[Waiting] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, begin: Callable[[], bool], refuse: Callable[[], None]) -> None:
        """Have a request begun as soon as there is a place, in the order of asking, or refused when none becomes free.

        `begin` tells whether it took the place: nobody may be there any more. Whoever took one leaves it by `leave`.
        """
        if self._free and not self._waiting:
            self._begin(begin)
            return
        self._waiting.append(Waiting(monotonic() + self._patience_seconds, begin, refuse))
        if self._timer is None:
            self._look_after(self._patience_seconds)

    def leave(self) -> None:
        """Give a place back; it is the next one's."""
        self._free += 1
        while self._free and self._waiting:
            self._begin(self._waiting.popleft().begin)

    def _begin(self, begin: Callable[[], bool]) -> None:
        self._free -= 1
        if not begin():
            self._free += 1

    def _look_after(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._refuse_the_late)

    def _refuse_the_late(self) -> None:
        self._timer = None
        now = monotonic()
        while self._waiting and self._waiting[0].deadline <= now:
            self._waiting.popleft().refuse()
        if self._waiting:
            self._look_after(self._waiting[0].deadline - now)
