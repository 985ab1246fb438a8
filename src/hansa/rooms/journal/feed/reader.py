"""One subscriber: its queued messages, and the end of a subscriber that does not read."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

from hansa.foundation.plumbing.telemetry.lines import Line
from hansa.foundation.plumbing.telemetry.metrics import feed_messages_total, feed_readers_dropped_total

from . import rules
from .messages import LiveEvent, resync

WAITING_MAX_MESSAGES = 1000
WAITING_MAX_BYTES = 1 << 20
CHUNK_MESSAGES = 64
CHUNK_BYTES = 32 << 10
"""What is being sent to one reader is a copy of its own; what waits is shared by all."""
AT_ONCE_BYTES = 64 << 10


class Reader:
    """The sending half of a socket. No event waits for a socket here.

    Messages that the line does not take at once wait in a bounded queue. A reader whose queue overflows is lost: its queue is
    dropped, one last message says where it stood, and its socket ends.
    """

    def __init__(self, line: Line, did: str | None = None) -> None:
        self._did = did
        self._channels: dict[str, rules.Channel] = {}
        self._agents = frozenset() if did is None else frozenset({did})
        self.lost = asyncio.Event()
        self.doubted = asyncio.Event()
        """Set when the reader may have lost the right to read, and with `lost`."""
        self._line = line
        # The shared event itself: an object for each waiting message would keep the garbage collector busy.
        self._waiting: deque[LiveEvent | bytes] = deque()
        self._waiting_bytes = 0
        self._last_sent: LiveEvent | None = None
        self._work = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self._spoke = False

    @property
    def channels(self) -> Mapping[str, rules.Channel]:
        """The channels that are followed, by name."""
        return self._channels

    @property
    def agents(self) -> frozenset[str]:
        """The agents whose events are shown whole: the reader itself, and those whose channels it follows."""
        return self._agents

    def follow(self, channel: rules.Channel) -> None:
        """Add a channel."""
        self._channels[channel.name] = channel
        self._note_agents()

    def leave(self, channel: rules.Channel) -> None:
        """Take a channel away."""
        self._channels.pop(channel.name, None)
        self._note_agents()

    def _note_agents(self) -> None:
        followed = (rules.agent_of(channel.key) for channel in self._channels.values())
        self._agents = frozenset(did for did in (self._did, *followed) if did is not None)

    def deliver(self, stored: Sequence[LiveEvent]) -> None:
        """Send live events, as far as they are shown to this reader."""
        if self.lost.is_set():
            return
        shown = [(event, frame) for event in stored if (frame := event.frame_for(self._agents))]
        if not shown:
            return
        self._spoke = True
        events = [event for event, _ in shown]
        frames = b"".join(frame for _, frame in shown)
        is_small = len(events) == 1 or len(frames) <= AT_ONCE_BYTES
        if is_small and not self._waiting and self._line.write(frames):
            self._last_sent = events[-1]
            feed_messages_total.inc(len(events))
            return
        self._queue(events)

    def send(self, *frames: bytes) -> None:
        """Send messages that are not live events."""
        if not self.lost.is_set():
            self._spoke = True
            self._queue(frames)

    def was_silent(self) -> bool:
        """Return whether nothing was said since this was asked last."""
        silent, self._spoke = not self._spoke, False
        return silent

    async def settled(self) -> None:
        """Wait until nothing waits."""
        await self._settled.wait()

    async def keep_sending(self) -> None:
        """Send the queued messages. Returns when the reader is gone, or is lost and was notified of it."""
        while True:
            await self._work.wait()
            if not await self._line.drained():
                return
            if self.lost.is_set():
                self._line.write(resync(self._last_sent))
                return
            self._send_some()

    def _queue(self, messages: Sequence[LiveEvent | bytes]) -> None:
        self._waiting.extend(messages)
        self._waiting_bytes += sum(len(self._frame_of(message)) for message in messages)
        if len(self._waiting) > WAITING_MAX_MESSAGES or self._waiting_bytes > WAITING_MAX_BYTES:
            self._waiting.clear()
            self.lost.set()
            self.doubted.set()
            feed_readers_dropped_total.inc()
        self._work.set()
        self._settled.clear()

    def _send_some(self) -> None:
        taken: list[LiveEvent | bytes] = []
        size = 0
        while self._waiting and len(taken) < CHUNK_MESSAGES and size < CHUNK_BYTES:
            taken.append(self._waiting.popleft())
            size += len(self._frame_of(taken[-1]))
        frames = b"".join(map(self._frame_of, taken))
        # A reader that left a private channel meanwhile is shown less than was counted.
        self._waiting_bytes = self._waiting_bytes - len(frames) if self._waiting else 0
        if self._line.write(frames):
            feed_messages_total.inc(len(taken))
            live = [message for message in taken if isinstance(message, LiveEvent)]
            self._last_sent = live[-1] if live else self._last_sent
        if not self._waiting:
            self._work.clear()
            self._settled.set()

    def _frame_of(self, message: LiveEvent | bytes) -> bytes:
        return message.frame_for(self._agents) if isinstance(message, LiveEvent) else message
