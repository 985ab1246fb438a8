"""The feed of one process: one follower, the replays of its channels, its sockets and its streams of public events.

The follower reads the journal on a connection of its own: every committed event once, in the order of positions. The connection
may break at any time: the next one goes on from the last position delivered. Notifications may be missing, so the follower also
looks without one, at first soon, then later.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import OUT_OF_REACH, Database, await_standbys
from hansa.foundation.plumbing.telemetry.job_health import JobHealth
from hansa.foundation.plumbing.telemetry.lines import Line
from hansa.foundation.plumbing.telemetry.metrics import feed_events_total, feed_sockets
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.journal.ledger_readings import LEDGER_READINGS, LedgerReadings
from hansa.rooms.journal.listener import Connection, listening

from . import rules, store
from .errors import TooManyChannels
from .messages import ListenerQueue, LiveEvent, message
from .reader import Reader
from .replays import Replays
from .store import Place

SOCKETS_MAX = 10_000
CHANNELS_MAX = 64
READY_SECONDS = 5.0
BATCH_MAX = 500
POLL_MIN_SECONDS = 0.01
POLL_MAX_SECONDS = 0.2
# A statement and a turn of sending take about as much for one event as for many. What sending took is left four times over to the
# rest of the process, as far as events are not late for it.
PACE_SECONDS = 0.02
PACE_MAX_SECONDS = 0.06
REST_FACTOR = 4
RECONNECT_SECONDS = 0.5
FOLLOWING = "live feed: follow the journal"
LINGER_SECONDS = 5.0
"""How long the connection is kept while no events are needed. Nothing is read on it meanwhile."""
Deliver = Callable[[Sequence[StoredEvent]], None]


class LiveFeed:
    """Sends each event once to every reader that subscribed to one of its channels.

    A replay is complete up to the last event sent when its reader is entered under the channel, and nothing interrupts
    the two: the end of a replay and the beginning of the live stream meet without a gap and without a repetition.
    """

    def __init__(self, database: Database, *, frame: str, ledger: LedgerReadings, health: JobHealth) -> None:
        self._follower = Follower(
            database.dsn, begin=self._be_ready, deliver=self.deliver, rest=self._forget, health=health
        )
        self._replays = Replays(database, lambda: self._follower.place, frame=frame, ledger=ledger)
        self._ready = asyncio.Event()
        self._readers: defaultdict[str, set[Reader]] = defaultdict(set)
        self._queues: set[ListenerQueue] = set()
        self.is_ending = False
        """Whether no stream of public events begins any more."""
        self._sockets = 0
        self._needs = 0
        """Readers with a channel, streams, and subscriptions under way."""

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

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place for a socket or a stream. Raises: Unavailable when the process has its fill of them."""
        if self._sockets >= SOCKETS_MAX:
            raise Unavailable(retry_after=5)
        self._sockets += 1
        feed_sockets.inc()
        try:
            yield
        finally:
            self._sockets -= 1
            feed_sockets.dec()

    @asynccontextmanager
    async def needed(self) -> AsyncIterator[None]:
        """The journal is followed meanwhile. Raises: Unavailable while it cannot be read."""
        self._need()
        try:
            await self._until_ready()
            yield
        finally:
            self._need_no_more()

    def _need(self) -> None:
        self._needs += 1
        self._follower.is_needed.set()

    def _need_no_more(self) -> None:
        self._needs -= 1
        if not self._needs:
            self._follower.is_needed.clear()

    async def _until_ready(self) -> None:
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            raise Unavailable(retry_after=1) from None

    @contextmanager
    def reading(self, line: Line, did: str | None) -> Iterator[Reader]:
        """A reader on this line, which leaves every channel at the end; `did` when an agent reads."""
        reader = Reader(line, did)
        try:
            yield reader
        finally:
            self._unsubscribe_from_all(reader)

    @property
    def position(self) -> Place:
        """The last place delivered: every event up to it is committed for good. Only within `needed()`."""
        return self._follower.place

    @contextmanager
    def listening(self, event_type: str | None, did: str | None) -> Iterator[ListenerQueue]:
        """The public events of a type and a DID, from the present position on; None of either sets no bound."""
        queue = ListenerQueue(event_type, did)
        self._queues.add(queue)
        try:
            yield queue
        finally:
            self._queues.discard(queue)

    def end_streams(self) -> None:
        """End every stream of public events, and those that begin later: the process stops."""
        self.is_ending = True
        for queue in self._queues:
            queue.end()

    async def subscribe(self, reader: Reader, channel: rules.Channel) -> None:
        """Confirm, replay the latest events of the channel from the store, and send new ones from now on.

        A channel that is subscribed already is only confirmed: its events were sent. Raises: TooManyChannels, Unavailable.
        """
        if channel.name in reader.channels:
            reader.send(message("subscribed", channel=channel.name))
            return
        if len(reader.channels) >= CHANNELS_MAX:
            raise TooManyChannels
        async with self.needed():
            latest = await self._replays.latest(channel.key)
            # From here on nothing is waited for.
            if not reader.channels:
                self._need()
            reader.follow(channel)
            self._readers[channel.key].add(reader)
            replay = (event.replay_frame_for(reader.agents) for event in latest)
            reader.send(message("subscribed", channel=channel.name), *filter(None, replay))

    def unsubscribe(self, reader: Reader, channel: rules.Channel) -> None:
        """Send nothing more of this channel, which is one of the reader's."""
        reader.leave(channel)
        if not reader.channels:
            self._need_no_more()
        readers = self._readers.get(channel.key, set())
        readers.discard(reader)
        if not readers:
            self._readers.pop(channel.key, None)

    def _unsubscribe_from_all(self, reader: Reader) -> None:
        for channel in list(reader.channels.values()):
            self.unsubscribe(reader, channel)

    def deliver(self, events: Sequence[StoredEvent]) -> None:
        """Make each event ready once and give every reader its own."""
        live = list(map(LiveEvent, events))
        for queue in self._queues:
            queue.deliver(live)
        for_reader: defaultdict[Reader, list[LiveEvent]] = defaultdict(list)
        for event, stored in zip(live, events, strict=True):
            self._replays.add(event)
            for key in rules.private_keys_stopped_by(stored.event_type, stored.aggregate_id):
                for reader in self._readers.get(key, ()):
                    reader.doubted.set()
            audiences = [self._readers[key] for key in event.keys if key in self._readers]
            for reader in audiences[0].union(*audiences[1:]) if audiences else ():
                for_reader[reader].append(event)
        feed_events_total.inc(len(events))
        for reader, share in for_reader.items():
            reader.deliver(share)
            if reader.lost.is_set():
                self._unsubscribe_from_all(reader)

    def _be_ready(self) -> None:
        self._ready.set()

    def _forget(self) -> None:
        self._ready.clear()
        self._replays.forget()


def _live_feed(runtime: Runtime) -> LiveFeed:
    frame, ledger = runtime.settings.ledger_id, LEDGER_READINGS.of(runtime)
    return LiveFeed(runtime.database, frame=frame, ledger=ledger, health=runtime.jobs)


class Follower:
    """The reader of one process, for as long as it `is_needed`.

    `begin` is called when following begins, then `deliver` with each batch; `rest` ends that, and the next need begins anew.
    """

    def __init__(
        self,
        dsn: str,
        *,
        begin: Callable[[], None],
        deliver: Deliver,
        rest: Callable[[], None],
        health: JobHealth,
    ) -> None:
        self.is_needed = asyncio.Event()
        self._dsn = dsn
        self._health = health
        self._begin = begin
        self._deliver = deliver
        self._rest = rest
        self._place: Place | None = None

    @property
    def place(self) -> Place:
        """The last position delivered: every event up to it is committed for good. Only while following."""
        assert self._place is not None
        return self._place

    async def run(self) -> None:
        """Follow until cancelled, through every outage of the database."""
        while True:
            await self.is_needed.wait()
            await self._follow_while_needed()

    async def _follow_while_needed(self) -> None:
        while True:
            try:
                wake = asyncio.Event()
                async with listening(self._dsn, wake) as connection:
                    await self._follow_while_connected(connection, wake)
            except OUT_OF_REACH as error:
                unavailable = Unavailable(f"The journal cannot be read: {type(error).__name__}.")
                pause = self._health.failed(FOLLOWING, unavailable)
            except Exception as error:  # noqa: BLE001
                # The feed fails alone, and its next turn comes.
                pause = self._health.failed(FOLLOWING, error)
            else:
                return
            await asyncio.sleep(max(RECONNECT_SECONDS, pause))

    async def _follow_while_connected(self, connection: Connection, wake: asyncio.Event) -> None:
        while self.is_needed.is_set():
            await self._follow(connection, wake)
            self._place = None
            self._rest()
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS):
                    await self.is_needed.wait()

    async def _follow(self, connection: Connection, wake: asyncio.Event) -> None:
        place = self._place or await self._horizon(connection)
        timeout = POLL_MIN_SECONDS
        while self.is_needed.is_set():
            wake.clear()
            events = await store.events_after(connection, place, BATCH_MAX)
            started = time.monotonic()
            if events:
                # Sent events are known outside: the standbys have them first.
                await await_standbys(connection)
                connection.require_replicated()
                place = self._place = Place.of(events[-1])
                self._deliver(events)
            self._health.succeeded(FOLLOWING)
            took = time.monotonic() - started
            await asyncio.sleep(min(max(PACE_SECONDS, REST_FACTOR * took), PACE_MAX_SECONDS))
            if len(events) == BATCH_MAX:
                continue
            timeout = POLL_MIN_SECONDS if events else min(2 * timeout, POLL_MAX_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await wake.wait()
                    timeout = POLL_MIN_SECONDS

    async def _horizon(self, connection: Connection) -> Place:
        place = self._place = await store.horizon(connection)
        self._begin()
        return place


LIVE_FEED: Slot[LiveFeed] = Slot("live feed: sockets of this process", build=_live_feed)
