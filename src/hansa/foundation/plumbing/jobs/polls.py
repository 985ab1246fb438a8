"""When a kind that says itself when there is work is asked. No I/O."""

# Under load the journal notifies without a pause, mostly of what no kind waits for.
PACE_SECONDS = 0.1
# What takes long to come to rest is asked less often: it then takes more at once, and what it shows is still recent.
BUSY_PACE_SECONDS = 0.3


class Poll:
    """When a kind that says itself when there is work is asked next.

    Less often while it has none and is not notified. While it has some or is notified each time, at most every
    BUSY_PACE_SECONDS, the first times every PACE_SECONDS.
    """

    def __init__(self, pause_max: float, pause_min: float = PACE_SECONDS) -> None:
        self.at = 0.0
        self._pause_min, self._pause_max = pause_min, pause_max
        self._pause = self._pace = pause_min
        self._pace_max = max(pause_min, min(BUSY_PACE_SECONDS, pause_max))
        self._asked_at = 0.0
        self._is_hastened = False

    def hasten(self, now: float) -> bool:
        """There may be work; whether it is asked sooner than it would have been."""
        self._is_hastened = True
        self._pause = self._pace
        sooner = max(now, self._asked_at + self._pace)
        is_sooner = sooner < self.at
        self.at = min(sooner, self.at)
        return is_sooner

    def looked(self, now: float, *, is_found: bool, pause: float) -> None:
        """It was asked; after a failure it is left alone for `pause` seconds."""
        self._asked_at = now
        self._pause = self._pace if is_found else min(2 * self._pause, self._pause_max)
        is_busy = is_found or self._is_hastened
        self._pace = min(2 * self._pace, self._pace_max) if is_busy else self._pause_min
        self._is_hastened = False
        self.at = now + max(self._pause, pause)
        if self._pause == self._pause_max:
            # Kinds that rest are asked in one turn, not each in its own.
            self.at = max(self.at - self.at % self._pause_max, now + PACE_SECONDS, now + pause)
