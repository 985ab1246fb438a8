"""Background jobs: rows of `plumbing_job`, run by the workers of all processes.

- `enqueue` adds a job in the caller's transaction, once for each kind and key, and wakes the workers at the commit.
- A job runs at least once. It is leased, or its row locked, so that one process at a time runs it; a result that comes
  after the lease was lost is refused. The job of a dead process comes back when its lease ends.
- A failed attempt is retried after a growing pause; after the last one, or when work gives up, the job is dead with the
  reason. Operators list and retry jobs, and drop those of a droppable kind; dead ones are deleted after 30 days.
- Scheduled work is one job per kind, whose next due time is counted from its end.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hansa.foundation.plumbing.storage.batch_loader import Question
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .administering import (
    JobFilter,
    JobKept,
    JobRunning,
    JobScheduled,
    JobUnknown,
    JobView,
    State,
    count_dead_jobs,
    drop_job,
    first_jobs,
    list_jobs,
    retry_job,
)
from .kinds import (
    SCHEDULE,
    GiveUp,
    Job,
    JobKind,
    LeasedKind,
    NewJob,
    PutOff,
    Retries,
    TransactionalKind,
    scheduled,
    sweep,
    sweep_of,
    sweep_with_runtime,
)
from .running import refused
from .store import Depth
from .worker import run_jobs

DEAD_KEPT_DAYS = 30


async def enqueue(
    tx: Tx, kind: str, key: str, payload: Mapping[str, Any] | None = None, due_at: datetime | None = None
) -> int:
    """Let a job of this kind run when `tx` has committed, or at `due_at`; returns its id.

    A waiting job of the same key keeps its payload and gets the earlier due time, one that runs under a lease runs once
    more, a dead one begins anew. `payload` is JSON-ready and holds no secrets.
    """
    (job_id,) = await store.enqueue(tx, kind, payload or {}, [NewJob(key, due_at)])
    return job_id


async def enqueue_many(tx: Tx, kind: str, jobs: Sequence[NewJob]) -> None:
    """Let these jobs run when `tx` has committed, or when they say; as `enqueue`, in one statement."""
    if jobs:
        await store.enqueue(tx, kind, {}, jobs)


async def withdraw(tx: Tx, kind: str, keys: Sequence[str] | None = None) -> None:
    """Delete the jobs of these keys, by default all of the kind. The result of one that runs is refused."""
    await store.withdraw(tx, kind, keys)


async def is_held(tx: Tx, job: Job) -> bool:
    """Return whether a leased job is still this attempt's; if so, no other process can take it before `tx` ends."""
    return await store.is_held(tx, job) or refused(job)


async def conclude(
    tx: Tx,
    job: Job,
    *,
    due_at: datetime | None = None,
    concurrency_key: str | None = None,
    low_priority: bool = False,
) -> bool:
    """End a leased job in the transaction that writes its result: it is deleted, or due again at `due_at`.

    A transaction that enqueues the job must hold a lock that this transaction holds too: a job enqueued meanwhile counts as seen.
    Return whether the lease was still held; if not, the job is left to who holds it now.
    """
    is_accepted = await store.conclude(tx, job, due_at, concurrency_key, low_priority=low_priority)
    return is_accepted or refused(job)


async def put_off(tx: Tx, job: Job, seconds: float) -> bool:
    """End a leased job by one statement: it is due again after so many seconds, or when it was enqueued meanwhile.

    Returns whether the lease was still held; if not, the job is left to who holds it now.
    """
    return await store.finish(tx, job, seconds) or refused(job)


async def depth_of(tx: Tx, kind: str) -> Depth:
    """How many jobs of a kind are due, run, or are dead."""
    (depth,) = await store.depths(tx, [kind])
    return depth


async def low_priority_due(tx: Tx, kind: str, most: int) -> dict[str, datetime]:
    """The due times of the first `most` jobs of low priority of a kind, by their keys, the earliest first."""
    return await store.low_priority_due(tx, kind, most)


async def forget_dead_jobs(tx: Tx) -> None:
    """Delete the jobs that have been dead for more than 30 days."""
    await store.forget_dead(tx, DEAD_KEPT_DAYS)


__all__ = [
    "SCHEDULE",
    "Depth",
    "GiveUp",
    "Job",
    "JobFilter",
    "JobKept",
    "JobKind",
    "JobRunning",
    "JobScheduled",
    "JobUnknown",
    "JobView",
    "LeasedKind",
    "NewJob",
    "PutOff",
    "Question",
    "Retries",
    "State",
    "TransactionalKind",
    "conclude",
    "count_dead_jobs",
    "depth_of",
    "drop_job",
    "enqueue",
    "enqueue_many",
    "first_jobs",
    "forget_dead_jobs",
    "is_held",
    "list_jobs",
    "low_priority_due",
    "put_off",
    "retry_job",
    "run_jobs",
    "scheduled",
    "sweep",
    "sweep_of",
    "sweep_with_runtime",
    "withdraw",
]
