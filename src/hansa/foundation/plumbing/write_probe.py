"""Whether the database can write: a statement that writes a megabyte to its disk and keeps nothing of it.

A full disk, or a server that takes no writes, answers every read. What was found good counts for a moment, and many that
ask at once share one statement.
"""

import asyncio
from time import monotonic
from typing import Annotated

from fastapi import Depends

from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.runtime import Slot
from hansa.foundation.values.errors import Unavailable

GOOD_SECONDS = 2.0

# Of a megabyte of rows 64 kB stay in memory: the others go through a temporary file.
_SMALL_MEMORY = "SET LOCAL work_mem = '64kB'"
_WRITE_ROWS = """
WITH filler AS MATERIALIZED (SELECT repeat(md5(n::text), 32) AS line FROM generate_series(1, 1024) AS n)
SELECT max(line) FROM filler
"""
_TAKES_WRITES = "SELECT current_setting('transaction_read_only') = 'off'"


class WriteProbe:
    """The probe of one process."""

    def __init__(self, database: Database, good_seconds: float = GOOD_SECONDS) -> None:
        self._database = database
        self._good_seconds = good_seconds
        self._good_until = 0.0
        self._probing: asyncio.Task[None] | None = None

    async def require(self) -> None:
        """Raises: Unavailable, while the database cannot write."""
        if monotonic() < self._good_until:
            return
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe())
        # One client going away does not end the probe for the others.
        await asyncio.shield(self._probing)

    async def _probe(self) -> None:
        await self._database.act(_write)
        self._good_until = monotonic() + self._good_seconds


async def _write(tx: Tx) -> None:
    if not await tx.fetchval(_TAKES_WRITES):
        raise Unavailable("The database does not accept writes at the moment.", retry_after=5)
    await tx.execute(_SMALL_MEMORY)
    await tx.fetchval(_WRITE_ROWS)


WRITE_PROBE: Slot[WriteProbe] = Slot("http: write probe")

Probe = Annotated[WriteProbe, Depends(WRITE_PROBE.given)]
"""The probe of the process that serves this request."""
