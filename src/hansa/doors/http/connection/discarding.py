"""Bodies of refused requests, read on and thrown away: so many bytes a second in one process.

A client may send all of a body before it reads the answer, and it cannot know a limit on the size. So the size has none: the
rate has one, and the time of each connection (`connection_ends`).
"""

import time
from collections.abc import Callable

WINDOW_SECONDS = 0.25
WINDOW_BYTES = 64 << 20
"""A quarter of a gigabyte a second costs a tenth of a processor."""


class Discarding:
    """Bytes that the connections of one process have thrown away in the present window."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._ends_at = 0.0
        self._left = 0

    def take(self, size: int) -> float:
        """Count bytes that were thrown away; returns for how many seconds their connection is not to be read."""
        now = self._now()
        if now >= self._ends_at:
            # Bytes that were read beyond a window are missing in the next one.
            self._left = WINDOW_BYTES + min(self._left, 0)
            self._ends_at = now + WINDOW_SECONDS
        self._left -= size
        return 0.0 if self._left > 0 else self._ends_at - now
