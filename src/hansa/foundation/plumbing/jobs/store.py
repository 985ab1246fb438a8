"""Every SQL statement on plumbing_job.

A result is written by an UPDATE that names the fencing token of the attempt. Each claim and each result raises the token,
so a result that comes after the lease was lost, or a second time, finds no row.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from .kinds import Job, NewJob

NOTIFICATIONS = "hansa_jobs"

_ENQUEUE = "SELECT plumbing_enqueue($1, $2, $3::text[], $4::timestamptz[], $5::text[], $6::boolean[])"

_SETTLE = """
INSERT INTO plumbing_job (kind, key, due_at)
SELECT s.kind, $3, now() + s.every_seconds * interval '1 second'
FROM unnest($1::text[], $2::float8[]) AS s (kind, every_seconds) ORDER BY s.kind
ON CONFLICT (kind, key) DO NOTHING
"""

# A newer version may have shortened an interval. A job that runs is left alone.
_HASTEN = """
UPDATE plumbing_job j SET due_at = sooner.due_at FROM (
  SELECT o.id, now() + s.every_seconds * interval '1 second' AS due_at
  FROM unnest($1::text[], $2::float8[]) AS s (kind, every_seconds) JOIN plumbing_job o ON o.kind = s.kind AND o.key = $3
  WHERE o.attempts = 0 AND o.due_at > now() + s.every_seconds * interval '1 second' FOR UPDATE OF o SKIP LOCKED
) AS sooner WHERE j.id = sooner.id
"""

_NEXT = """
SELECT w.kind, extract(epoch FROM n.ready_at - clock_timestamp())::float8 AS in_seconds
FROM unnest($1::text[]) AS w (kind) CROSS JOIN LATERAL (SELECT least(
  (SELECT min(ready_at) FROM plumbing_job WHERE kind = w.kind AND state = 'waiting' AND NOT low_priority),
  (SELECT min(ready_at) FROM plumbing_job WHERE kind = w.kind AND state = 'waiting' AND low_priority)) AS ready_at
) AS n WHERE n.ready_at IS NOT NULL
"""

_TAKEN = "id, kind, key, payload, attempts, fencing_token"

_CLAIM = """
UPDATE plumbing_job j SET attempts = j.attempts + 1, fencing_token = j.fencing_token + 1,
  lease_until = clock_timestamp() + $3::float8 * interval '1 second'
FROM (
  SELECT DISTINCT ON (coalesce(free.concurrency_key, free.id::text)) free.id FROM (
    SELECT id, concurrency_key, ready_at FROM plumbing_job w
    WHERE kind = $1 AND state = 'waiting' AND {priority} AND ready_at <= now() AND NOT EXISTS (
      SELECT FROM plumbing_job other WHERE other.kind = w.kind AND other.concurrency_key = w.concurrency_key
        AND other.lease_until IS NOT NULL AND other.id <> w.id)
    ORDER BY ready_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
  ) AS free ORDER BY coalesce(free.concurrency_key, free.id::text), free.ready_at, free.id
) AS due WHERE j.id = due.id
RETURNING j.id, j.kind, j.key, j.payload, j.attempts, j.fencing_token, j.due_at
"""

_CLAIM_FIRST, _CLAIM_LOW = _CLAIM.format(priority="NOT low_priority"), _CLAIM.format(priority="low_priority")

_LOCK = f"""
SELECT {_TAKEN} FROM plumbing_job WHERE kind = $1 AND state = 'waiting' AND NOT low_priority AND ready_at <= now()
ORDER BY ready_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
"""  # noqa: S608

_RENEW = """
UPDATE plumbing_job SET lease_until = clock_timestamp() + $3::float8 * interval '1 second'
WHERE id = $1 AND fencing_token = $2 AND state = 'waiting' AND lease_until IS NOT NULL
"""

_FINISH = """
UPDATE plumbing_job SET fencing_token = fencing_token + 1, attempts = 0, last_error = NULL, lease_until = NULL, due_again_at = NULL,
  due_at = coalesce(least(due_again_at, clock_timestamp() + $3::float8 * interval '1 second'), 'infinity')
WHERE id = $1 AND fencing_token = $2 AND state = 'waiting' RETURNING due_at = 'infinity'
"""

_PUT_OFF = """
UPDATE plumbing_job SET fencing_token = fencing_token + 1, attempts = $5, last_error = $4, lease_until = NULL, due_again_at = NULL,
  due_at = clock_timestamp() + $3::float8 * interval '1 second'
WHERE id = $1 AND fencing_token = $2 AND state = 'waiting'
"""

_BURY = """
UPDATE plumbing_job SET fencing_token = fencing_token + 1, attempts = $4, last_error = $3, lease_until = NULL, due_again_at = NULL,
  state = CASE WHEN due_again_at IS NULL THEN 'dead' ELSE 'waiting' END,
  dead_at = CASE WHEN due_again_at IS NULL THEN clock_timestamp() END,
  due_at = coalesce(due_again_at, due_at)
WHERE id = $1 AND fencing_token = $2 AND state = 'waiting' RETURNING state
"""

_IS_HELD = """
SELECT true FROM plumbing_job WHERE id = $1 AND fencing_token = $2 AND state = 'waiting' AND lease_until IS NOT NULL
FOR UPDATE
"""

_CONCLUDE = """
DELETE FROM plumbing_job WHERE id = $1 AND fencing_token = $2 AND state = 'waiting' AND lease_until IS NOT NULL
"""

_CONTINUE = """
UPDATE plumbing_job SET fencing_token = fencing_token + 1, attempts = 0, last_error = NULL, lease_until = NULL, due_again_at = NULL,
  due_at = $3, concurrency_key = $4, low_priority = $5
WHERE id = $1 AND fencing_token = $2 AND state = 'waiting' AND lease_until IS NOT NULL
"""

_RELEASE = """
UPDATE plumbing_job SET attempts = attempts - 1, lease_until = NULL
WHERE id = $1 AND fencing_token = $2 AND lease_until IS NOT NULL
"""

_DEPTHS = """
SELECT w.kind, first.due + low.due AS due, coalesce(under_way.running, 0) AS running, coalesce(given_up.dead, 0) AS dead,
  coalesce(extract(epoch FROM now() - least(first.oldest, low.oldest)), 0)::float8 AS oldest_seconds
FROM unnest($1::text[]) AS w (kind)
CROSS JOIN LATERAL (SELECT count(*) AS due, min(due_at) AS oldest FROM plumbing_job
  WHERE kind = w.kind AND state = 'waiting' AND NOT low_priority AND ready_at <= now()) AS first
CROSS JOIN LATERAL (SELECT count(*) AS due, min(due_at) AS oldest FROM plumbing_job
  WHERE kind = w.kind AND state = 'waiting' AND low_priority AND ready_at <= now()) AS low
LEFT JOIN (SELECT kind, count(*) AS running FROM plumbing_job
  WHERE lease_until IS NOT NULL AND lease_until > now() GROUP BY kind) AS under_way USING (kind)
LEFT JOIN (SELECT kind, count(*) AS dead FROM plumbing_job WHERE state = 'dead' GROUP BY kind) AS given_up USING (kind)
"""

_LOW_PRIORITY = """
SELECT key, due_at FROM plumbing_job WHERE kind = $1 AND state = 'waiting' AND low_priority ORDER BY ready_at, id LIMIT $2
"""


class Depth(msgspec.Struct, frozen=True):
    """The queue of a kind: jobs that could run now, that run, that are dead, and how long the oldest due one has waited."""

    kind: str
    due: int
    running: int
    dead: int
    oldest_seconds: float


async def enqueue(tx: Tx, kind: str, payload: Mapping[str, Any], jobs: Sequence[NewJob]) -> list[int]:
    """Add jobs, or move those of this kind and key forward; returns their ids. Workers are notified at the commit."""
    ids: list[int] = await tx.fetchval(
        _ENQUEUE,
        kind,
        json.dumps(payload),
        [job.key for job in jobs],
        [job.due_at for job in jobs],
        [job.concurrency_key for job in jobs],
        [job.low_priority for job in jobs],
    )
    return ids


async def withdraw(tx: Tx, kind: str, keys: Sequence[str] | None) -> None:
    """Delete the jobs of these keys, or all of the kind; a result that one of them writes afterwards is refused."""
    await tx.execute(
        "DELETE FROM plumbing_job WHERE kind = $1 AND ($2::text[] IS NULL OR key = ANY ($2))", kind, keys
    )


async def notify(tx: Tx) -> None:
    """Wake the workers of every process at the commit."""
    await tx.execute("SELECT pg_notify($1, '')", NOTIFICATIONS)


async def settle_schedules(tx: Tx, every_seconds: Mapping[str, float], key: str) -> None:
    """Let each scheduled kind have its job, due no later than one interval from now."""
    given = (list(every_seconds), list(every_seconds.values()), key)
    await tx.execute(_SETTLE, *given)
    await tx.execute(_HASTEN, *given)


async def next_due(tx: Tx, kinds: Collection[str]) -> dict[str, float]:
    """In how many seconds a job of each kind can run, at most 0 when one can now."""
    return {row["kind"]: row["in_seconds"] for row in await tx.fetch(_NEXT, list(kinds))}


async def claim(tx: Tx, kind: str, most: int, lease_seconds: float) -> list[Job]:
    """Lease jobs that are due, longest due first and those of low priority last; no two processes get the same."""
    claimed: list[asyncpg.Record] = []
    for claim_of_priority in (_CLAIM_FIRST, _CLAIM_LOW):
        if len(claimed) < most:
            rows = await tx.fetch(claim_of_priority, kind, most - len(claimed), lease_seconds)
            claimed += sorted(rows, key=lambda row: (row["due_at"], row["id"]))
    return [_job(row) for row in claimed]


async def lock(tx: Tx, kind: str) -> Job | None:
    """The job that has been due the longest, locked until the transaction ends; none that another process has locked."""
    row = await tx.fetchrow(_LOCK, kind)
    return None if row is None else _job(row, attempts=row["attempts"] + 1)


async def renew(tx: Tx, job: Job, lease_seconds: float) -> bool:
    """Extend a lease; whether it was still held."""
    return await tx.execute(_RENEW, job.id, job.fencing_token, lease_seconds) == "UPDATE 1"


async def finish(tx: Tx, job: Job, again_in_seconds: float | None) -> bool:
    """Delete a job that is done, or keep it for its next run; whether the result was accepted."""
    is_done = await tx.fetchval(_FINISH, job.id, job.fencing_token, again_in_seconds)
    if is_done:
        await tx.execute("DELETE FROM plumbing_job WHERE id = $1", job.id)
    return is_done is not None


async def put_off(tx: Tx, job: Job, pause_seconds: float, error: str) -> bool:
    """Note a failed attempt; the job is due again after the pause. Whether the result was accepted."""
    done = await tx.execute(_PUT_OFF, job.id, job.fencing_token, pause_seconds, error, job.attempts)
    return done == "UPDATE 1"


async def bury(tx: Tx, job: Job, error: str) -> str | None:
    """Note that a job is given up; its state now, None when the result was refused."""
    state: str | None = await tx.fetchval(_BURY, job.id, job.fencing_token, error, job.attempts)
    return state


async def is_held(tx: Tx, job: Job) -> bool:
    """Return whether the job is still this attempt's, which stays so until the transaction ends."""
    return bool(await tx.fetchval(_IS_HELD, job.id, job.fencing_token))


async def conclude(
    tx: Tx, job: Job, due_at: datetime | None, concurrency_key: str | None, *, low_priority: bool
) -> bool:
    """End a leased job: deleted, or due again then; whether the result was accepted."""
    if due_at is None:
        return await tx.execute(_CONCLUDE, job.id, job.fencing_token) == "DELETE 1"
    done = await tx.execute(_CONTINUE, job.id, job.fencing_token, due_at, concurrency_key, low_priority)
    return done == "UPDATE 1"


async def release(tx: Tx, job: Job) -> bool:
    """Give a lease back as if the attempt had not begun; whether it was still held."""
    return await tx.execute(_RELEASE, job.id, job.fencing_token) == "UPDATE 1"


async def forget_dead(tx: Tx, days: int) -> None:
    """Delete the jobs that have been dead for so long."""
    await tx.execute(
        "DELETE FROM plumbing_job WHERE state = 'dead' AND dead_at < now() - make_interval(days => $1)", days
    )


async def depths(tx: Tx, kinds: Sequence[str]) -> list[Depth]:
    """The queues of these kinds."""
    return [Depth(**row) for row in await tx.fetch(_DEPTHS, kinds)]


async def low_priority_due(tx: Tx, kind: str, most: int) -> dict[str, datetime]:
    """When the first jobs of low priority are due, by their keys."""
    return {row["key"]: row["due_at"] for row in await tx.fetch(_LOW_PRIORITY, kind, most)}


def _job(row: asyncpg.Record, attempts: int | None = None) -> Job:
    return Job(
        id=row["id"],
        kind=row["kind"],
        key=row["key"],
        payload=json.loads(row["payload"]),
        attempts=row["attempts"] if attempts is None else attempts,
        fencing_token=row["fencing_token"],
    )
