"""Status for anybody: the checks of this process beside the measurements and incidents of the database."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.values.errors import Unavailable

from . import store
from .checks import CHECKS
from .records import Incident, Measurements
from .schemas import PublicStatus


class Recorded(msgspec.Struct, frozen=True):
    """Measurements and incidents of one moment."""

    measurements: Measurements
    incidents: Sequence[Incident]


class Records:
    """The measurements and incidents for everybody who asks this process: one reading at a time, however many ask."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._readings: BatchLoader[None, Recorded] = BatchLoader(self._read)

    async def now(self) -> Recorded:
        """Return what is recorded, read after this was asked. Raises: Unavailable."""
        found = await self._readings.find(None)
        assert found is not None
        return found

    async def _read(self, asked: object) -> dict[None, Recorded]:
        del asked

        async def reading(tx: Tx) -> Recorded:
            return Recorded(*await read_together(tx, store.measurements, store.shown_incidents))

        return {None: await self._database.query(reading)}


RECORDS: Slot[Records] = Slot("status: records", build=lambda runtime: Records(runtime.database))


async def read_status(runtime: Runtime) -> PublicStatus:
    """State, components, incidents and uptime. While the database is away it has neither incidents nor uptime. Raises nothing."""
    checks = await CHECKS.of(runtime).recent()
    try:
        found = await RECORDS.of(runtime).now()
    except Unavailable:
        return PublicStatus.of(checks, None, ())
    return PublicStatus.of(checks, found.measurements, found.incidents)


async def read_incidents(tx: Tx) -> list[Incident]:
    """Open incidents and those of the last 90 days, open ones first, then the one that changed last."""
    return await store.shown_incidents(tx)
