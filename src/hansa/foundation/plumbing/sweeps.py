"""Periodic background work: each sweep runs in one process at a time, leased by a lock of the database."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.words.errors import Unavailable

_log = structlog.get_logger()


@dataclass(frozen=True)
class Sweep:
    """Work done every so often in a transaction of its own; it must be harmless to repeat.

    With `one_snapshot` all its statements see the same moment.
    """

    name: str
    every_seconds: float
    work: Callable[[Tx], Awaitable[Any]]
    one_snapshot: bool = False


async def run_sweeps(database: Database, sweeps: Sequence[Sweep]) -> None:
    """Run until cancelled."""
    async with asyncio.TaskGroup() as group:
        for sweep in sweeps:
            group.create_task(_repeat(database, sweep))


async def _repeat(database: Database, sweep: Sweep) -> None:
    while True:
        await asyncio.sleep(sweep.every_seconds)
        try:
            await database.act(lambda tx: _leased(tx, sweep), one_snapshot=sweep.one_snapshot)
        except Unavailable as trouble:
            _log.warning("sweep put off", sweep=sweep.name, reason=trouble.detail)
        except Exception:  # noqa: BLE001
            # A sweep fails alone: neither the others nor the service end with it, and its next turn comes.
            _log.exception("sweep failed", sweep=sweep.name)


async def _leased(tx: Tx, sweep: Sweep) -> None:
    if await tx.fetchval("SELECT pg_try_advisory_xact_lock(hashtextextended($1, 1))", sweep.name):
        await sweep.work(tx)
