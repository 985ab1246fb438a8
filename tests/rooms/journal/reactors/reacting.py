"""Reactors that leave a row for each event that they reacted to, in this process or in one of their own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace

from hansa.foundation.events import TokensIssued
from hansa.foundation.plumbing.jobs import Retries, run_jobs
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.telemetry.job_health import JobHealth
from hansa.rooms import journal
from tests.operation.registry_process import until

KEPT = "keeps what happened"
REACTIONS = (
    "CREATE TABLE reaction (id int GENERATED ALWAYS AS IDENTITY, reactor text NOT NULL, ref text NOT NULL)"
)
SOON = Retries(attempts_max=4, pause_seconds=0.02, pause_max_seconds=0.05)


async def keep(tx: Tx, event: journal.StoredEvent, name: str = KEPT) -> None:
    await tx.execute("INSERT INTO reaction (reactor, ref) VALUES ($1, $2)", name, event.data["ref"])


async def keep_slowly(tx: Tx, event: journal.StoredEvent) -> None:
    """A process that is killed is most likely in the middle of this."""
    await keep(tx, event)
    await asyncio.sleep(0.005)


class CountedTries(JobHealth):
    """Counts the tries of the jobs of a process that began, and remembers the last one that ended."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = 0
        self._ended = 0

    async def attempt(self, name: str, work: Callable[[], Awaitable[object]]) -> float:
        self._begun += 1
        number = self._begun
        try:
            return await super().attempt(name, work)
        finally:
            self._ended = max(self._ended, number)

    async def tried_again(self) -> None:
        """Wait for the end of a try that begins after this call."""
        begun = self._begun
        await until(lambda: self._ended > begun)


def reactor(react=keep, name: str = KEPT, *, from_the_start: bool = False) -> journal.Reactor:
    return journal.Reactor(name, (TokensIssued,), react, from_the_start)


@asynccontextmanager
async def reacting(
    database: Database, *reactors: journal.Reactor, health: JobHealth | None = None
) -> AsyncIterator[None]:
    """Settle these reactors, and run them meanwhile."""
    await database.transaction(lambda tx: journal.settle_reactors(tx, reactors))
    runtime = SimpleNamespace(database=database, jobs=health or JobHealth())
    task = asyncio.create_task(run_jobs(runtime, journal.reactor_jobs(reactors, SOON)))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def kept(database: Database, name: str = KEPT) -> list[str]:
    """The refs of the events reacted to, in the order of the reactions."""
    rows = await database.query(
        lambda tx: tx.fetch("SELECT ref FROM reaction WHERE reactor = $1 ORDER BY id", name)
    )
    return [row["ref"] for row in rows]


async def _run_for_ever(dsn: str) -> None:
    database = Database(dsn, pool_size=2)
    await database.open()
    async with reacting(database, reactor(keep_slowly)):
        await asyncio.Event().wait()


def react_for_ever(dsn: str) -> None:
    """Run like another process that reacts."""
    asyncio.run(_run_for_ever(dsn))
