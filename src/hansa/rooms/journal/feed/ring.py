"""The newest events in memory, and of each channel the few that a new subscriber is told first."""

from collections import defaultdict, deque

from . import rules
from .messages import LiveEvent

REPLAYED = 15


class Ring:
    """The newest `depth` events; public channels keep their few beyond it."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._events: deque[LiveEvent] = deque()
        self._latest: defaultdict[str, deque[LiveEvent]] = defaultdict(lambda: deque(maxlen=REPLAYED))

    def add(self, event: LiveEvent) -> None:
        """Take the next event; the oldest falls out of a full ring."""
        self._events.append(event)
        for key in event.keys:
            self._latest[key].append(event)
        if len(self._events) > self._depth:
            self._forget(self._events.popleft())

    def latest(self, key: str) -> list[LiveEvent]:
        """The latest events filed under `key`, the oldest first."""
        return list(self._latest.get(key, ()))

    def _forget(self, event: LiveEvent) -> None:
        for key in event.keys:
            # Types are few; agents are as many as there are events.
            if not key.startswith(rules.OF_TYPE):
                kept = self._latest[key]
                if kept and kept[0] is event:
                    kept.popleft()
                if not kept:
                    del self._latest[key]
