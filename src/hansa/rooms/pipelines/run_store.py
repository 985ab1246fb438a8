"""The SQL of runs, steps and attempts.

Locks: a transaction that changes a run locks its row before its steps and attempts, and after tokens, holds and accounts.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total

from .machine import ENDED, Leaving, RunState, RunStatus, StepState
from .records import AttemptRow, NewAttempt, Run, RunRow
from .store import definition_of

DAYS_STORED = 30
ERASED_AT_ONCE = 200

_COLUMNS = """
u.id, u.pipeline_id, u.revision, u.agent_did, u.status, u.leaving, u.grant_id, u.client, u.developer_id, u.is_cancel_asked,
u.deadline_at, u.created_at, u.ended_at, u.deadline_at <= clock_timestamp() AS is_past
"""
_STEPS = """
(SELECT json_agg(json_build_object('id', s.step, 'status', s.status, 'made', s.made, 'base', s.base, 'most', s.most,
  'is_open', s.is_open, 'is_short', s.is_short, 'is_paid', s.is_paid, 'is_approved', s.is_approved,
  'approval_id', s.approval_id, 'reason', s.reason) ORDER BY s.place) FROM pipelines_step s WHERE s.run_id = u.id) AS steps
"""
_RUNS = f"""
SELECT {_COLUMNS}, r.definition, {_STEPS} FROM pipelines_run u
JOIN pipelines_revision r ON r.pipeline_id = u.pipeline_id AND r.revision = u.revision
"""  # noqa: S608
_PAGE = with_total(
    f"{_RUNS} WHERE u.pipeline_id = $1 ORDER BY u.created_at DESC, u.id LIMIT $2 OFFSET $3",
    "SELECT count(*) FROM pipelines_run u WHERE u.pipeline_id = $1",
)

_INSERT = """
INSERT INTO pipelines_run (id, pipeline_id, revision, agent_did, status, grant_id, client, developer_id, input, deadline_at)
VALUES ($1, $2, $3, $4, 'queued', $5, $6, $7, $8, now() + make_interval(secs => $9))
"""
_INSERT_STEPS = """
INSERT INTO pipelines_step (run_id, step, place, status, made, base, most, is_open, is_short, is_paid, is_approved)
SELECT $1, s.step, s.place, 'pending', 0, 0, s.most, false, false, false, false
FROM unnest($2::text[], $3::int[]) WITH ORDINALITY AS s (step, most, place)
"""
_WRITE = """
UPDATE pipelines_run SET status = $2, leaving = $3,
  ended_at = CASE WHEN $4 THEN coalesce(ended_at, clock_timestamp()) END WHERE id = $1
"""
_WRITE_STEP = """
UPDATE pipelines_step SET status = $3, made = $4, base = $5, most = $6, is_open = $7, is_short = $8, is_paid = $9,
  is_approved = $10, approval_id = $11, reason = $12 WHERE run_id = $1 AND step = $2
"""
_INSERT_ATTEMPT = """
INSERT INTO pipelines_attempt (id, run_id, step, n, payee, token_id, amount, reason) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_ATTEMPTS = (
    "SELECT id, step, n, payee, token_id, amount, reason, is_answered, output, at FROM pipelines_attempt"
)
_OUTPUTS = """
SELECT DISTINCT ON (a.step) a.step, a.id, a.output FROM pipelines_attempt a
JOIN pipelines_step s ON s.run_id = a.run_id AND s.step = a.step AND s.status = 'succeeded'
WHERE a.run_id = $1 AND a.is_answered AND a.output IS NOT NULL AND ($2::text[] IS NULL OR a.step = ANY ($2))
ORDER BY a.step, a.n DESC
"""
_ASK_CANCEL = """
UPDATE pipelines_run SET is_cancel_asked = true WHERE {} AND ended_at IS NULL AND NOT is_cancel_asked RETURNING id
"""

_OLD = (
    f"FROM pipelines_run WHERE input IS NOT NULL AND ended_at <= now() - make_interval(days => {DAYS_STORED})"
)
HAS_OLD = Question(f"SELECT EXISTS (SELECT {_OLD})")
"""Condition of a run whose input and outputs have been stored for their time."""
_ERASE = f"""
WITH old AS (SELECT id {_OLD} ORDER BY id LIMIT {ERASED_AT_ONCE} FOR UPDATE SKIP LOCKED),
  outputs AS (UPDATE pipelines_attempt a SET output = NULL FROM old WHERE a.run_id = old.id AND a.output IS NOT NULL)
UPDATE pipelines_run u SET input = NULL FROM old WHERE u.id = old.id
"""  # noqa: S608


class NewRun(msgspec.Struct, frozen=True):
    """A run to be written; `sealed` is its input."""

    id: UUID
    pipeline_id: UUID
    revision: int
    agent_did: str
    sealed: bytes
    deadline_seconds: int
    grant_id: UUID | None = None
    client: str | None = None
    developer_id: int | None = None


async def insert(tx: Tx, new: NewRun, state: RunState) -> None:
    """Write a queued run with its steps."""
    await tx.execute(
        _INSERT,
        new.id,
        new.pipeline_id,
        new.revision,
        new.agent_did,
        new.grant_id,
        new.client,
        new.developer_id,
        new.sealed,
        float(new.deadline_seconds),
    )
    await tx.execute(
        _INSERT_STEPS, new.id, [step.id for step in state.steps], [step.most for step in state.steps]
    )


async def lock(tx: Tx, run_id: UUID) -> Run | None:
    """The run, locked until the transaction ends."""
    await tx.execute("SELECT FROM pipelines_run WHERE id = $1 FOR UPDATE", run_id)
    # A statement of its own after the lock: rows and clock are read when no other transaction can change the run.
    return await find(tx, run_id)


async def find(tx: Tx, run_id: UUID) -> Run | None:
    """The run as it stands."""
    row = await tx.fetchrow(f"{_RUNS} WHERE u.id = $1", run_id)
    return None if row is None else _run(row)


async def page(tx: Tx, pipeline_id: UUID, limit: int, offset: int) -> tuple[list[Run], int]:
    """A page of the runs of a pipeline, newest first, and how many there are."""
    rows, total = await read_page(tx, _PAGE, pipeline_id, limit, offset)
    return [_run(row) for row in rows], total


async def write(tx: Tx, before: Run, state: RunState) -> None:
    """Write what changed of a locked run."""
    was, now = before.state, state
    if (was.status, was.leaving) != (now.status, now.leaving):
        await tx.execute(_WRITE, before.row.id, now.status, now.leaving, now.status in ENDED)
    changed = [new for old, new in zip(was.steps, now.steps, strict=True) if old != new]
    await tx.executemany(_WRITE_STEP, [_values(before.row.id, step) for step in changed])


async def add_attempt(tx: Tx, run_id: UUID, new: NewAttempt) -> None:
    """Write an attempt; its number is free, since the run is locked."""
    await tx.execute(
        _INSERT_ATTEMPT, uuid4(), run_id, new.step, new.n, new.payee, new.token_id, new.amount, new.reason
    )


async def attempts(tx: Tx, run_id: UUID) -> list[AttemptRow]:
    """The attempts of a run, by number."""
    rows = await tx.fetch(f"{_ATTEMPTS} WHERE run_id = $1 ORDER BY step, n", run_id)
    return [AttemptRow(**row) for row in rows]


async def attempt_of_token(tx: Tx, token_id: UUID) -> AttemptRow | None:
    """The attempt that this token pays."""
    row = await tx.fetchrow(f"{_ATTEMPTS} WHERE token_id = $1", token_id)
    return None if row is None else AttemptRow(**row)


async def note_answer(tx: Tx, attempt_id: UUID, sealed: bytes) -> None:
    """Write the sealed output of an attempt."""
    await tx.execute(
        "UPDATE pipelines_attempt SET is_answered = true, output = $2 WHERE id = $1", attempt_id, sealed
    )


async def note_reason(tx: Tx, attempt_id: UUID, reason: str) -> None:
    """Write why an attempt brought nothing."""
    await tx.execute("UPDATE pipelines_attempt SET reason = $2 WHERE id = $1", attempt_id, reason)


async def input_of(tx: Tx, run_id: UUID) -> bytes | None:
    """The sealed input of a run; None once it was deleted."""
    sealed: bytes | None = await tx.fetchval("SELECT input FROM pipelines_run WHERE id = $1", run_id)
    return sealed


async def outputs(tx: Tx, run_id: UUID, steps: Sequence[str] | None) -> dict[str, tuple[UUID, bytes]]:
    """The sealed outputs of these succeeded steps, by default of all, each with the id of its attempt."""
    rows = await tx.fetch(_OUTPUTS, run_id, None if steps is None else list(steps))
    return {row["step"]: (row["id"], row["output"]) for row in rows}


async def ask_cancel_of_grant(tx: Tx, grant_id: UUID) -> list[UUID]:
    """Ask that the runs under a grant be cancelled; returns their ids."""
    return [row["id"] for row in await tx.fetch(_ASK_CANCEL.format("grant_id = $1"), grant_id)]


async def ask_cancel_of_agent(tx: Tx, did: str) -> list[UUID]:
    """Ask that the runs of an agent be cancelled; returns their ids."""
    return [row["id"] for row in await tx.fetch(_ASK_CANCEL.format("agent_did = $1"), did)]


async def erase_old(tx: Tx) -> None:
    """Delete inputs and outputs of a batch of runs that ended long ago."""
    await tx.execute(_ERASE)


def _values(run_id: UUID, step: StepState) -> tuple[Any, ...]:
    return (
        run_id,
        step.id,
        step.status,
        step.made,
        step.base,
        step.most,
        step.is_open,
        step.is_short,
        step.is_paid,
        step.is_approved,
        None if step.approval_id is None else UUID(step.approval_id),
        step.reason,
    )


def _run(row: asyncpg.Record | dict[str, Any]) -> Run:
    members = dict(row)
    definition = definition_of(members.pop("definition"))
    steps = msgspec.json.decode(members.pop("steps"), type=tuple[StepState, ...])
    stored = RunRow(**members)
    status = msgspec.convert(stored.status, RunStatus)
    state = RunState(status, steps, msgspec.convert(stored.leaving, Leaving | None))
    return Run(stored, definition, state)
