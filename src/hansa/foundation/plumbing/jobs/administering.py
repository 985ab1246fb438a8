"""Background jobs for administrators and the operator: lists of them, and acts on them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Conflict, NotFound

from .kinds import SCHEDULE
from .store import notify

State = Literal["waiting", "running", "dead"]

_STATE = "CASE WHEN state = 'dead' THEN 'dead' WHEN lease_until > now() THEN 'running' ELSE 'waiting' END"

_FILTERED = f"""
FROM plumbing_job WHERE ($1::text IS NULL OR kind = $1) AND ($2::text IS NULL OR {_STATE} = $2)
"""

_LIST = f"""
SELECT id, kind, key, {_STATE} AS state, due_at, attempts, last_error, created_at, lease_until, dead_at
{_FILTERED} ORDER BY due_at, id LIMIT $3 OFFSET $4
"""

_FIRST_OF_KINDS = f"""
SELECT DISTINCT ON (kind) id, kind, key, {_STATE} AS state, due_at, attempts, last_error, created_at, lease_until, dead_at
FROM plumbing_job WHERE kind = ANY($1::text[]) ORDER BY kind, due_at, id
"""  # noqa: S608

# A job that runs is left to its process: a row that is locked is under way in a transaction.
_LOCK = f"SELECT kind, key, {_STATE} AS state FROM plumbing_job WHERE id = $1 FOR UPDATE SKIP LOCKED"  # noqa: S608

_RETRY = """
UPDATE plumbing_job SET state = 'waiting', dead_at = NULL, attempts = 0, due_at = now(), lease_until = NULL,
  fencing_token = fencing_token + 1
WHERE id = $1
"""


class JobUnknown(NotFound):
    """No job has this id; it may have finished."""

    sentence = "No job has this id; it may have finished."


class JobRunning(Conflict):
    """The job is running; it can be changed after its attempt has ended."""

    code = "JOB_RUNNING"
    sentence = "The job is running; retry after its attempt has ended."
    remedy = "Wait for the end of the attempt, then send the request again."


class JobScheduled(Conflict):
    """The job runs on a schedule and cannot be dropped."""

    code = "JOB_SCHEDULED"
    sentence = "The job runs on a schedule and cannot be dropped."


class JobKept(Conflict):
    """Jobs of this kind cannot be deleted."""

    code = "JOB_KEPT"
    sentence = "Jobs of this kind carry units, or what others wait for, and cannot be deleted."
    remedy = "Remove the cause of its failure, then retry the job."


class JobFilter(msgspec.Struct, frozen=True):
    """Filter of jobs, the earliest due first; None in a member matches every job."""

    kind: str | None
    state: State | None
    limit: int
    offset: int


class JobView(msgspec.Struct, frozen=True):
    """A job as operators see it: not its payload, which may hold personal data."""

    id: int
    kind: str
    key: str
    state: State
    due_at: datetime
    attempts: int
    last_error: str | None
    created_at: datetime
    lease_until: datetime | None
    dead_at: datetime | None


async def list_jobs(tx: Tx, criteria: JobFilter) -> tuple[list[JobView], int]:
    """A page of jobs, the earliest due first, and how many there are of these in all."""
    rows = await tx.fetch(_LIST, criteria.kind, criteria.state, criteria.limit, criteria.offset)
    total: int = await tx.fetchval(f"SELECT count(*) {_FILTERED}", criteria.kind, criteria.state)
    return [JobView(**row) for row in rows], total


async def count_dead_jobs(tx: Tx) -> int:
    """How many jobs have no attempts left."""
    count: int = await tx.fetchval("SELECT count(*) FROM plumbing_job WHERE state = 'dead'")
    return count


async def first_jobs(tx: Tx, kinds: Sequence[str]) -> dict[str, JobView]:
    """The job of each of these kinds that is due first, by kind; a kind without a job is absent."""
    rows = await tx.fetch(_FIRST_OF_KINDS, kinds)
    return {row["kind"]: JobView(**row) for row in rows}


async def retry_job(tx: Tx, job_id: int, administrator: Developer | None, reason: str | None = None) -> None:
    """Make a job due now, with all its attempts before it. Without an administrator it is recorded as an operator's act.

    Raises: JobUnknown, JobRunning.
    """
    kind, _ = await _lock(tx, job_id)
    await tx.execute(_RETRY, job_id)
    await notify(tx)
    await record_act(tx, administrator, act="job.retry", subject=f"job:{job_id} {kind}", reason=reason)


async def drop_job(
    tx: Tx,
    job_id: int,
    administrator: Developer | None,
    reason: str | None = None,
    *,
    droppable: Collection[str],
) -> None:
    """Delete a job of a droppable kind, and its content. Without an administrator it is recorded as an operator's act.

    Raises: JobUnknown, JobRunning, JobScheduled, JobKept.
    """
    kind, key = await _lock(tx, job_id)
    if key == SCHEDULE:
        raise JobScheduled
    if kind not in droppable:
        raise JobKept
    await tx.execute("DELETE FROM plumbing_job WHERE id = $1", job_id)
    await record_act(tx, administrator, act="job.drop", subject=f"job:{job_id} {kind}", reason=reason)


async def _lock(tx: Tx, job_id: int) -> tuple[str, str]:
    """Kind and key of a job that does not run, locked."""
    row = await tx.fetchrow(_LOCK, job_id)
    if row is None and not await tx.fetchval("SELECT true FROM plumbing_job WHERE id = $1", job_id):
        raise JobUnknown
    if row is None or row["state"] == "running":
        raise JobRunning
    return row["kind"], row["key"]
