"""Running jobs in tests: those that are due, one pass or as a process does; and moving their clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hansa.foundation.plumbing.jobs import Job, JobKind, LeasedKind, TransactionalKind, run_jobs
from hansa.foundation.plumbing.jobs.kinds import SCHEDULE
from hansa.foundation.plumbing.jobs.running import claim, run_in_transaction, run_leased
from hansa.foundation.plumbing.process.runtime import Runtime

CLAIMED_AT_ONCE = 5


async def run_due(runtime: Runtime, *kinds: JobKind) -> int:
    """Run every job of these kinds that is due, one kind after the other; returns how many were run."""
    count = 0
    for kind in kinds:
        if isinstance(kind, TransactionalKind):
            while await run_in_transaction(runtime, kind) is not None:
                count += 1
        elif kind.is_enabled(runtime.settings):
            count += await _run_due_leased(runtime, kind)
    return count


async def _run_due_leased(runtime: Runtime, kind: LeasedKind) -> int:
    count = 0
    while claimed := await claim(runtime, kind, CLAIMED_AT_ONCE):
        await asyncio.gather(*(run_leased(runtime, kind, job) for job in claimed))
        count += len(claimed)
    return count


async def run_scheduled_transactions(runtime: Runtime, *kinds: JobKind) -> None:
    """Do the scheduled work of these kinds that is one transaction, once each, due or not."""
    for kind in kinds:
        if isinstance(kind, TransactionalKind) and kind.every_seconds:
            job = Job(id=0, kind=kind.name, key=SCHEDULE, payload={}, attempts=1, fencing_token=0)
            await runtime.database.transaction(
                lambda tx, kind=kind, job=job: kind.work(tx, runtime, job), one_snapshot=kind.one_snapshot
            )


@asynccontextmanager
async def working(runtime: Runtime, *kinds: JobKind) -> AsyncIterator["asyncio.Task[None]"]:
    """Meanwhile jobs of these kinds are run as by a process of their own."""
    task = asyncio.create_task(run_jobs(runtime, kinds))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def jobs_of(runtime: Runtime, kind: str) -> list[dict[str, Any]]:
    """The rows of a kind, the earliest due first."""
    rows = await runtime.database.query(
        lambda tx: tx.fetch("SELECT * FROM plumbing_job WHERE kind = $1 ORDER BY due_at, id", kind)
    )
    return [dict(row) for row in rows]


async def time_passes(runtime: Runtime, seconds: float) -> None:
    """Make jobs that are due in so many seconds due now, and end leases as much earlier."""
    await runtime.database.transaction(
        lambda tx: tx.execute(
            "UPDATE plumbing_job SET due_at = due_at - $1 * interval '1 second',"
            " lease_until = lease_until - $1 * interval '1 second'",
            seconds,
        )
    )
