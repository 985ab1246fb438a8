"""A probe of whether the database can write: a megabyte to its disk, of which it keeps nothing, and a commit.

A full disk, a server that takes no writes and a commit that waits for a standby without end leave every read as it was. A
good result counts for a moment, and concurrent requests share one probe.
"""

import asyncio
from time import monotonic
from typing import Annotated

from fastapi import Depends

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.errors import Unavailable

GOOD_SECONDS = 2.0
ANSWER_SECONDS = 4.0
"""Requests are answered after this time: a commit that hangs is a database that does not write."""

# Of a megabyte of rows 64 kB stay in memory: the others go through a temporary file.
_SMALL_MEMORY = "SET LOCAL work_mem = '64kB'"
_WRITE_ROWS = """
WITH filler AS MATERIALIZED (SELECT repeat(md5(n::text), 32) AS line FROM generate_series(1, 1024) AS n)
SELECT max(line) FROM filler
"""
_COMMIT = "SELECT pg_logical_emit_message(true, 'hansa', '')"
_TAKES_WRITES = "SELECT current_setting('transaction_read_only') = 'off'"


class WriteProbe:
    """The probe of one process."""

    def __init__(self, database: Database, good_seconds: float = GOOD_SECONDS) -> None:
        self._database = database
        self._good_seconds = good_seconds
        self._good_until = 0.0
        self._probing: asyncio.Task[Unavailable | None] | None = None

    async def require(self) -> None:
        """Raises: Unavailable, while the database cannot write."""
        if monotonic() < self._good_until:
            return
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe())
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                # One client going away does not end the probe for the others.
                error = await asyncio.shield(self._probing)
        except TimeoutError:
            raise Unavailable("The database does not commit at the moment.", retry_after=5) from None
        if error is not None:
            raise error

    async def _probe(self) -> Unavailable | None:
        """Returns why the database cannot write. A failure of a task that nobody awaits any more would be logged with its traceback."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._database.transaction(_write)
                # As a reading statement, which is cancelled at its end: nothing rests on this commit.
                await self._database.query(lambda tx: tx.execute(_COMMIT))
        except TimeoutError:
            return Unavailable("The database does not commit at the moment.", retry_after=5)
        except Unavailable as error:
            return error
        self._good_until = monotonic() + self._good_seconds
        return None


async def _write(tx: Tx) -> None:
    if not await tx.fetchval(_TAKES_WRITES):
        raise Unavailable("The database does not accept writes at the moment.", retry_after=5)
    await tx.execute(_SMALL_MEMORY)
    await tx.fetchval(_WRITE_ROWS)


WRITE_PROBE: Slot[WriteProbe] = Slot("http: write probe", build=lambda runtime: WriteProbe(runtime.database))

Probe = Annotated[WriteProbe, Depends(WRITE_PROBE.given)]
"""The probe of the process that serves this request."""
