"""Queue of messages for one reader of the public stream. No writer waits for a reader: one that falls behind is ended."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from hansa.foundation.plumbing.telemetry.metrics import feed_readers_dropped_total

from . import rules
from .messages import LiveEvent

WAITING_MAX = 1000


class ListenerQueue:
    """The public events of the given type and DID that one reader has not taken yet."""

    def __init__(self, event_type: str | None, did: str | None) -> None:
        keys = (event_type and rules.OF_TYPE + event_type, did and rules.OF_AGENT + did)
        self._keys = frozenset(key for key in keys if key)
        self._waiting: deque[LiveEvent] = deque()
        self._has_news = asyncio.Event()
        self.is_over = False
        """Whether nothing more comes: the reader fell behind, or the process stops."""

    def wants(self, event: LiveEvent) -> bool:
        """Return whether the reader asked for this event and may see it."""
        return self._keys.issubset(event.keys) and event.is_public

    def deliver(self, events: Sequence[LiveEvent]) -> None:
        """Let these events wait, as far as they are wanted."""
        self._waiting.extend(event for event in events if self.wants(event))
        if len(self._waiting) > WAITING_MAX:
            feed_readers_dropped_total.inc()
            self.end()
        if self._waiting:
            self._has_news.set()

    def end(self) -> None:
        """Drop the queued messages and notify the reader that nothing more comes."""
        self.is_over = True
        self._waiting.clear()
        self._has_news.set()

    async def take(self, seconds: float) -> list[LiveEvent]:
        """Everything that waits; empty after so many seconds without an event, and at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._has_news.wait()
        taken = list(self._waiting)
        self._waiting.clear()
        if not self.is_over:
            self._has_news.clear()
        return taken
