"""Latest events of a channel: read from the store up to the last event sent, then kept current with the events sent.

Of an `events:` channel they are the latest that the public sees, kept in memory from the first subscription on, since
many ask for them at once. Of an agent's channel they are read for each subscription.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms.journal import reading_store
from hansa.rooms.journal.audience import PRIVATE_TYPES
from hansa.rooms.journal.ledger_readings import LedgerReadings
from hansa.rooms.journal.participants import ParticipantFilter, events_by_participant

from . import rules
from .messages import LiveEvent
from .store import Place

REPLAYED = 15
READ_AT_ONCE = 50

Latest = deque[LiveEvent]


class Replays:
    """The replays of one process; `place` is the last position sent."""

    def __init__(
        self, database: Database, place: Callable[[], Place], *, frame: str, ledger: LedgerReadings
    ) -> None:
        self._database = database
        self._place = place
        self._frame = frame
        self._ledger = ledger
        self._kept: dict[str, Latest] = {}
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._sent_meanwhile: defaultdict[str, list[Latest]] = defaultdict(list)

    def add(self, event: LiveEvent) -> None:
        """Note an event that is being sent."""
        for key in event.keys:
            if key in self._kept and event.is_public:
                self._kept[key].append(event)
            if event.is_public or rules.agent_of(key) is not None:
                for meanwhile in self._sent_meanwhile.get(key, ()):
                    meanwhile.append(event)

    def forget(self) -> None:
        """Keep nothing: the next event sent does not follow on the last one."""
        self._kept = {}

    async def latest(self, key: str) -> list[LiveEvent]:
        """The latest events under `key` up to the last one sent when this returns, the oldest first.

        Raises: Unavailable.
        """
        if rules.has_no_replay(key):
            return []
        if rules.agent_of(key) is not None:
            return list(await self._read(key))
        while key not in self._kept:
            if key not in self._reading:
                self._reading[key] = asyncio.create_task(self._keep(key))
            await asyncio.shield(self._reading[key])
        return list(self._kept[key])

    async def _keep(self, key: str) -> None:
        # What is forgotten meanwhile must not come back.
        stored = self._kept
        try:
            stored[key] = await self._read(key)
        finally:
            del self._reading[key]

    async def _read(self, key: str) -> Latest:
        with self._noting(key) as meanwhile:
            place = self._place()
            stored = await self._database.read_replicated(lambda tx: self._stored(tx, key, place))
            latest: Latest = deque(map(LiveEvent, reversed(stored)), maxlen=REPLAYED)
            latest.extend(meanwhile)
        return latest

    @contextmanager
    def _noting(self, key: str) -> Iterator[Latest]:
        """Collect the events sent under `key` meanwhile, as far as a replay needs them."""
        meanwhile: Latest = deque(maxlen=REPLAYED)
        self._sent_meanwhile[key].append(meanwhile)
        try:
            yield meanwhile
        finally:
            # By identity: two empty ones are equal.
            others = [one for one in self._sent_meanwhile.pop(key) if one is not meanwhile]
            if others:
                self._sent_meanwhile[key] = others

    async def _stored(self, tx: Tx, key: str, place: Place) -> list[StoredEvent]:
        """The latest stored events under `key` up to `place`, the newest first."""
        did = rules.agent_of(key)
        if did is not None:
            return await self._stored_of_agent(tx, key, did, place)
        before = (place.xid, place.seq + 1)
        if key == rules.EVERYTHING:
            return await reading_store.public_events_before(tx, before, PRIVATE_TYPES, limit=REPLAYED)
        event_type = key.removeprefix(rules.OF_TYPE)
        if event_type in PRIVATE_TYPES:
            return []
        return await reading_store.events_before(tx, before, event_type=event_type, limit=REPLAYED, offset=0)

    async def _stored_of_agent(self, tx: Tx, key: str, did: str, place: Place) -> list[StoredEvent]:
        found: list[StoredEvent] = []
        cursor: str | None = None
        while len(found) < REPLAYED:
            is_needed = ParticipantFilter(
                did, self._frame, limit=READ_AT_ONCE, sort_order="desc", cursor=cursor
            )
            page = await events_by_participant(tx, is_needed, self._ledger)
            found += [
                event
                for event in page.events
                if Place.of(event) <= place
                and key in rules.keys_of(event.event_type, event.aggregate_id, event.data)
            ]
            cursor = page.next
            if cursor is None:
                break
        return found[:REPLAYED]
