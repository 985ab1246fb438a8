"""The feed of one process: one follower, one ring, and whoever listens."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

from hansa.foundation.plumbing.lines import Line
from hansa.foundation.plumbing.metrics import feed_events_total, feed_sockets
from hansa.foundation.words.errors import Unavailable
from hansa.rooms.journal.store import StoredEvent

from . import rules
from .errors import TooManyChannels
from .follower import Follower
from .messages import LiveEvent, message
from .reader import Reader
from .ring import REPLAYED, Ring

SOCKETS_MAX = 10_000
CHANNELS_MAX = 64
READY_SECONDS = 5.0


class LiveFeed:
    """Tells each event once to every reader that subscribed to one of its channels.

    Subscribing and telling are steps that nothing interrupts: what a replay ends with and what the live stream begins
    with meet without a gap and without a repetition.
    """

    def __init__(self, dsn: str, *, ring: int) -> None:
        self._follower = Follower(
            dsn, seed=self._remember, tell=self.tell, rest=self._forget, ring=ring, of_each_type=REPLAYED
        )
        self._depth = ring
        self._ring = Ring(ring)
        self._ready = asyncio.Event()
        self._readers: defaultdict[str, set[Reader]] = defaultdict(set)
        self._sockets = 0

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Follow the journal meanwhile."""
        task = asyncio.create_task(self._follower.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place for a socket; waits for the ring to be filled.

        Raises: Unavailable, also when the process has its fill of sockets.
        """
        if self._sockets >= SOCKETS_MAX:
            raise Unavailable(retry_after=5)
        self._sockets += 1
        self._follower.wanted.set()
        feed_sockets.inc()
        try:
            await self._until_ready()
            yield
        finally:
            self._sockets -= 1
            feed_sockets.dec()
            if not self._sockets:
                self._follower.wanted.clear()

    async def _until_ready(self) -> None:
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            raise Unavailable(retry_after=1) from None

    @contextmanager
    def reading(self, line: Line) -> Iterator[Reader]:
        """A reader on this line, which leaves every channel at the end."""
        reader = Reader(line)
        try:
            yield reader
        finally:
            for channel in list(reader.channels.values()):
                self.unsubscribe(reader, channel)

    def subscribe(self, reader: Reader, channel: rules.Channel) -> None:
        """Confirm, replay, and tell from now on. Raises: TooManyChannels."""
        if channel.name not in reader.channels and len(reader.channels) >= CHANNELS_MAX:
            raise TooManyChannels
        reader.channels[channel.name] = channel
        self._readers[channel.key].add(reader)
        replay = [event.replay_frame for event in self._ring.latest(channel.key)]
        reader.say(message("subscribed", channel=channel.name), *replay)

    def unsubscribe(self, reader: Reader, channel: rules.Channel) -> None:
        """Tell no more of this channel."""
        reader.channels.pop(channel.name, None)
        readers = self._readers.get(channel.key, set())
        readers.discard(reader)
        if not readers:
            self._readers.pop(channel.key, None)

    def tell(self, events: Sequence[StoredEvent]) -> None:
        """Make each event ready once and give every reader its own."""
        for_reader: defaultdict[Reader, list[LiveEvent]] = defaultdict(list)
        for told in events:
            event = LiveEvent.of(told)
            self._ring.add(event)
            for key in rules.private_keys_stopped_by(told.event_type, told.aggregate_id):
                for reader in self._readers.get(key, ()):
                    reader.doubted.set()
            audiences = [self._readers[key] for key in event.keys if key in self._readers]
            for reader in audiences[0].union(*audiences[1:]) if audiences else ():
                for_reader[reader].append(event)
        feed_events_total.inc(len(events))
        for reader, share in for_reader.items():
            reader.tell(share)

    def _remember(self, events: Sequence[StoredEvent]) -> None:
        for event in events:
            self._ring.add(LiveEvent.of(event))
        self._ready.set()

    def _forget(self) -> None:
        self._ready.clear()
        self._ring = Ring(self._depth)
