"""Number of events: counters of the settled ones, and the few newer ones counted anew."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Database, Tx

from . import counting_store

COUNTED_AT_ONCE = 500_000


class Edge(msgspec.Struct, frozen=True):
    """One end of the log."""

    sequence: int
    recorded_at: datetime


class Counts(msgspec.Struct, frozen=True):
    """Exact as of one moment."""

    by_type: Mapping[str, int]
    first: Edge | None
    last: Edge | None
    as_of: datetime

    @property
    def total(self) -> int:
        """Events of all types."""
        return sum(self.by_type.values())


class EventCounts:
    """The counts for everybody who asks this process: one reading at a time, however many ask."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._readings: BatchLoader[None, Counts] = BatchLoader(self._read)

    async def now(self) -> Counts:
        """The counts, read after this was asked."""
        counts = await self._readings.find(None)
        assert counts is not None
        return counts

    async def _read(self, asked: object) -> dict[None, Counts]:
        del asked
        return {None: await self._database.read(count_all)}


async def count_all(tx: Tx) -> Counts:
    """Count every type and find both ends; `tx` must be one snapshot (Database.read)."""
    first, last = await counting_store.edge(tx, newest=False), await counting_store.edge(tx, newest=True)
    by_type = await counting_store.counts(tx)
    as_of: datetime = await clock.began_at(tx)
    return Counts(by_type, first and Edge(*first), last and Edge(*last), as_of)


async def count_events(tx: Tx, event_type: str | None) -> int:
    """How many events of a type there are, or of all types."""
    by_type = await counting_store.counts(tx)
    return sum(by_type.values()) if event_type is None else by_type.get(event_type, 0)


async def count_settled(tx: Tx) -> None:
    """Add to the counters the events that became settled since the last time, in order and with a limit for each run."""
    counted = await counting_store.lock_counted(tx)
    horizon = await counting_store.horizon(tx, counted, COUNTED_AT_ONCE)
    await counting_store.count_between(tx, counted, horizon)


EVENT_COUNTS: Slot[EventCounts] = Slot(
    "journal: counts of events", build=lambda runtime: EventCounts(runtime.database)
)
