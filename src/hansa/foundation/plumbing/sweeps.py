"""Periodic background work: each sweep runs in one process at a time, leased by a lock of the database."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.job_health import JobHealth


@dataclass(frozen=True)
class Sweep:
    """Work done every so often in a transaction of its own; it must be harmless to repeat.

    With `one_snapshot` all its statements see the same moment.
    """

    name: str
    every_seconds: float
    work: Callable[[Tx], Awaitable[Any]]
    one_snapshot: bool = False


async def run_sweeps(database: Database, sweeps: Sequence[Sweep], health: JobHealth | None = None) -> None:
    """Run until cancelled."""
    health = health or JobHealth()
    async with asyncio.TaskGroup() as group:
        for sweep in sweeps:
            group.create_task(_repeat(database, sweep, health))


async def _repeat(database: Database, sweep: Sweep, health: JobHealth) -> None:
    async def once() -> bool:
        return await database.act(lambda tx: _leased(tx, sweep), one_snapshot=sweep.one_snapshot)

    pause = 0.0
    while True:
        await asyncio.sleep(max(sweep.every_seconds, pause))
        pause = await health.attempt(sweep.name, once)


async def _leased(tx: Tx, sweep: Sweep) -> bool:
    """Do the work unless another process is at it; returns whether it was done here."""
    if not await tx.fetchval("SELECT pg_try_advisory_xact_lock(hashtextextended($1, 1))", sweep.name):
        return False
    await sweep.work(tx)
    return True
