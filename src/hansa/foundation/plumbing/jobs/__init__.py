"""Background jobs: rows of `plumbing_job`, run by the workers of all processes.

- `enqueue` adds a job in the caller's transaction, once for each kind and key, and wakes the workers at the commit.
- A job runs at least once. It is leased, or its row locked, so that one process at a time runs it; a result that comes
  after the lease was lost is refused. The job of a dead process comes back when its lease ends.
- A failed attempt is retried after a growing pause; after the last one, or when work gives up, the job is dead with the
  reason. Operators list, retry and drop jobs; dead ones are deleted after 30 days.
- Scheduled work is one job per kind, whose next due time is counted from its end.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hansa.foundation.plumbing.database import Tx

from . import store
from .administering import (
    JobFilter,
    JobRunning,
    JobScheduled,
    JobUnknown,
    JobView,
    State,
    drop_job,
    list_jobs,
    retry_job,
)
from .kinds import (
    SCHEDULE,
    GiveUp,
    Job,
    JobKind,
    LeasedKind,
    PutOff,
    Retries,
    TransactionalKind,
    scheduled,
    sweep,
    sweep_with_runtime,
)
from .worker import run_jobs

DEAD_KEPT_DAYS = 30


async def enqueue(
    tx: Tx, kind: str, key: str, payload: Mapping[str, Any] | None = None, due_at: datetime | None = None
) -> int:
    """Let a job of this kind run when `tx` has committed, or at `due_at`; returns its id.

    A waiting job of the same key keeps its payload and gets the earlier due time, one that runs under a lease runs once
    more, a dead one begins anew. `payload` is JSON-ready and holds no secrets.
    """
    return await store.enqueue(tx, kind, key, payload or {}, due_at)


async def forget_dead_jobs(tx: Tx) -> None:
    """Delete the jobs that have been dead for more than 30 days."""
    await store.forget_dead(tx, DEAD_KEPT_DAYS)


__all__ = [
    "SCHEDULE",
    "GiveUp",
    "Job",
    "JobFilter",
    "JobKind",
    "JobRunning",
    "JobScheduled",
    "JobUnknown",
    "JobView",
    "LeasedKind",
    "PutOff",
    "Retries",
    "State",
    "TransactionalKind",
    "drop_job",
    "enqueue",
    "forget_dead_jobs",
    "list_jobs",
    "retry_job",
    "run_jobs",
    "scheduled",
    "sweep",
    "sweep_with_runtime",
]
