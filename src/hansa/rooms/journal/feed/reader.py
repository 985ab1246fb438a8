"""One subscriber: what waits for it, and the end of the one that does not read."""

import asyncio
from collections import deque
from collections.abc import Sequence

from hansa.foundation.plumbing.lines import Line
from hansa.foundation.plumbing.metrics import feed_messages_total, feed_readers_dropped_total

from . import rules
from .messages import LiveEvent, resync

WAITING_MAX_MESSAGES = 1000
WAITING_MAX_BYTES = 1 << 20
CHUNK_MESSAGES = 64


class Reader:
    """The sending half of a socket. Nothing here makes the teller of an event wait.

    What the line does not take at once waits in a bounded queue. A reader whose queue overflows is lost: what waited is
    dropped, one last message says where it stood, and its socket ends.
    """

    def __init__(self, line: Line) -> None:
        self.channels: dict[str, rules.Channel] = {}
        self.lost = asyncio.Event()
        self.doubted = asyncio.Event()
        """Set when whoever reads may have lost the right to, and with `lost`."""
        self._line = line
        # The shared event itself: an object for each waiting message would keep the garbage collector busy.
        self._waiting: deque[LiveEvent | bytes] = deque()
        self._waiting_bytes = 0
        self._last_told: LiveEvent | None = None
        self._work = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self._spoke = False

    def tell(self, events: Sequence[LiveEvent]) -> None:
        """Send live events."""
        if self.lost.is_set():
            return
        self._spoke = True
        if not self._waiting and self._line.write(b"".join(event.frame for event in events)):
            self._last_told = events[-1]
            feed_messages_total.inc(len(events))
            return
        self._queue(events)

    def say(self, *frames: bytes) -> None:
        """Send messages that are not live events."""
        if not self.lost.is_set():
            self._spoke = True
            self._queue(frames)

    def was_silent(self) -> bool:
        """Whether nothing was said since this was asked last."""
        silent, self._spoke = not self._spoke, False
        return silent

    async def settled(self) -> None:
        """Wait until nothing waits."""
        await self._settled.wait()

    async def keep_sending(self) -> None:
        """Send what waits. Returns when the reader is gone, or is lost and was told so."""
        while True:
            await self._work.wait()
            if not await self._line.drained():
                return
            if self.lost.is_set():
                self._line.write(resync(self._last_told))
                return
            self._send_some()

    def _queue(self, messages: Sequence[LiveEvent | bytes]) -> None:
        self._waiting.extend(messages)
        self._waiting_bytes += sum(len(_frame_of(message)) for message in messages)
        if len(self._waiting) > WAITING_MAX_MESSAGES or self._waiting_bytes > WAITING_MAX_BYTES:
            self._waiting.clear()
            self.lost.set()
            self.doubted.set()
            feed_readers_dropped_total.inc()
        self._work.set()
        self._settled.clear()

    def _send_some(self) -> None:
        taken = [self._waiting.popleft() for _ in range(min(CHUNK_MESSAGES, len(self._waiting)))]
        frames = b"".join(map(_frame_of, taken))
        self._waiting_bytes -= len(frames)
        if self._line.write(frames):
            feed_messages_total.inc(len(taken))
            live = [message for message in taken if isinstance(message, LiveEvent)]
            self._last_told = live[-1] if live else self._last_told
        if not self._waiting:
            self._work.clear()
            self._settled.set()


def _frame_of(message: LiveEvent | bytes) -> bytes:
    return message.frame if isinstance(message, LiveEvent) else message
