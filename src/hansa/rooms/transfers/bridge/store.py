"""The SQL of sagas and of decisions about sagas of peers. The row of a saga is locked before any units are."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import Question
from hansa.rooms import agents

from .messages import Direction, Terms
from .sagas import Decision, Move, Saga, State

FIRST_PAUSE_SECONDS = 2
LONGEST_PAUSE_SECONDS = 300
FIRST_RETRY_SECONDS = 12.0
"""The job of the peer takes a saga over when the process that answers its caller has ended."""

_STEPS = (
    "(SELECT jsonb_agg(jsonb_build_object('state', step, 'at', clock_timestamp()) ORDER BY n)"
    " FROM unnest({}::text[]) WITH ORDINALITY AS passed (step, n))"
)

_ADD = f"""
INSERT INTO transfers_bridge_saga (saga_id, direction, peer, frame, sender_did, receiver_did, amount, currency, state,
  history, hold_id, is_counted, capability_id, request_scope, deadline, next_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, {_STEPS.format("$10")}, $11, $12, $13, $14, to_timestamp($15),
  clock_timestamp() + make_interval(secs => $16))
"""  # noqa: S608

_WRITE = f"""
UPDATE transfers_bridge_saga SET state = $2, code = $3, answer = $4, history = history || {_STEPS.format("$5")},
  updated_at = clock_timestamp(), next_at = CASE WHEN $6 THEN NULL ELSE next_at END
WHERE saga_id = $1
"""  # noqa: S608

_TAKE_DUE = f"""
UPDATE transfers_bridge_saga SET tries = tries + 1,
  next_at = clock_timestamp() + make_interval(secs => least({FIRST_PAUSE_SECONDS} * 2 ^ least(tries, 16), {LONGEST_PAUSE_SECONDS}))
WHERE saga_id IN (SELECT saga_id FROM transfers_bridge_saga WHERE peer = $1 AND next_at IS NOT NULL
  AND (saga_id = $2 OR $2 IS NULL AND next_at <= clock_timestamp()) ORDER BY next_at LIMIT $3 FOR UPDATE)
RETURNING *
"""  # noqa: S608

_PEERS_DUE = "SELECT DISTINCT peer FROM transfers_bridge_saga WHERE next_at <= clock_timestamp()"

HAS_PEER_DUE = Question(f"SELECT EXISTS ({_PEERS_DUE})")
"""Whether a peer is to be asked now."""

_DECIDE = """
INSERT INTO transfers_bridge_decision (peer, saga_id, direction, frame, sender_did, receiver_did, amount, currency, is_done,
  code, request)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""

_TOMBSTONES = """
SELECT count(*) FROM (SELECT FROM transfers_bridge_decision WHERE peer = $1 AND NOT is_done LIMIT $2) AS kept
"""

_IS_SETTLED = "SELECT NOT EXISTS (SELECT FROM transfers_bridge_saga WHERE peer = $1 AND next_at IS NOT NULL)"


@dataclass(frozen=True)
class KeptSaga:
    """A saga of this registry with what the commit of its outcome needs."""

    saga: Saga
    peer: str
    frame: str
    hold_id: int | None
    held: agents.HeldBudget
    request_scope: bytes | None
    created_at: datetime


@dataclass(frozen=True)
class NewSaga:
    """A saga to be written, with the hold of its units."""

    move: Move
    peer: str
    frame: str
    hold_id: int | None
    held: agents.HeldBudget
    request_scope: bytes | None


async def add(tx: Tx, new: NewSaga) -> None:
    """Write a saga that begins."""
    saga = new.move.saga
    terms = saga.terms
    await tx.execute(
        _ADD,
        UUID(terms.saga_id),
        terms.direction.value,
        new.peer,
        new.frame,
        terms.sender_did,
        terms.receiver_did,
        terms.amount,
        terms.currency,
        saga.state.value,
        [str(step) for step in new.move.passed],
        new.hold_id,
        new.held.is_counted,
        new.held.capability_id,
        new.request_scope,
        saga.deadline,
        FIRST_RETRY_SECONDS,
    )


async def find(tx: Tx, saga_id: UUID, *, lock: bool = False) -> KeptSaga | None:
    """A saga of this registry."""
    row = await saga_row(tx, saga_id, lock=lock)
    return None if row is None else _kept(row)


async def saga_row(tx: Tx, saga_id: UUID, *, lock: bool = False) -> asyncpg.Record | None:
    """As `find`, as it is kept."""
    statement = "SELECT * FROM transfers_bridge_saga WHERE saga_id = $1"
    return await tx.fetchrow(statement + (" FOR UPDATE" if lock else ""), saga_id)


async def decision_rows(tx: Tx, saga_id: UUID) -> list[asyncpg.Record]:
    """The decisions about sagas of peers with this id."""
    return list(await tx.fetch("SELECT * FROM transfers_bridge_decision WHERE saga_id = $1", saga_id))


async def write(tx: Tx, move: Move) -> None:
    """Write a move of a locked saga."""
    saga = move.saga
    answer = saga.answer.raw if saga.answer else None
    steps = [str(step) for step in move.passed]
    await tx.execute(
        _WRITE, UUID(saga.terms.saga_id), saga.state.value, saga.code, answer, steps, saga.has_ended
    )


async def take_due(tx: Tx, peer: str, most: int, only: UUID | None = None) -> list[KeptSaga]:
    """Sagas about which the peer is asked now, or only this one; locked, and the next time is set."""
    return [_kept(row) for row in await tx.fetch(_TAKE_DUE, peer, only, most)]


async def peers_due(tx: Tx) -> list[str]:
    """The peers that are to be asked now."""
    return [row["peer"] for row in await tx.fetch(_PEERS_DUE)]


async def decision(tx: Tx, peer: str, saga_id: UUID) -> Decision | None:
    """What was decided about a saga of this peer."""
    statement = "SELECT * FROM transfers_bridge_decision WHERE peer = $1 AND saga_id = $2"
    row = await tx.fetchrow(statement, peer, saga_id)
    if row is None:
        return None
    return Decision(_terms(row), row["is_done"], row["code"])


async def add_decision(tx: Tx, peer: str, frame: str, decided: Decision, request: str) -> None:
    """Record a decision and the request that the peer signed; a second one for the same saga is a unique violation."""
    terms = decided.terms
    await tx.execute(
        _DECIDE,
        peer,
        UUID(terms.saga_id),
        terms.direction.value,
        frame,
        terms.sender_did,
        terms.receiver_did,
        terms.amount,
        terms.currency,
        decided.is_done,
        decided.code,
        request,
    )


async def tombstones(tx: Tx, peer: str, most: int) -> int:
    """How many refused and cancelled sagas of this peer are kept, counted up to `most`."""
    count: int = await tx.fetchval(_TOMBSTONES, peer, most)
    return count


async def is_settled(tx: Tx, peer: str) -> bool:
    """Whether no saga waits for an answer of this peer."""
    return bool(await tx.fetchval(_IS_SETTLED, peer))


def history_of(row: asyncpg.Record) -> list[dict[str, Any]]:
    """The states that a saga has passed, with their times."""
    return list(json.loads(row["history"]))


def _kept(row: asyncpg.Record) -> KeptSaga:
    saga = Saga(_terms(row), State(row["state"]), row["deadline"].timestamp(), row["code"])
    return KeptSaga(
        saga,
        row["peer"],
        row["frame"],
        row["hold_id"],
        agents.HeldBudget(row["is_counted"], row["capability_id"]),
        row["request_scope"],
        row["created_at"],
    )


def _terms(row: asyncpg.Record) -> Terms:
    return Terms(
        str(row["saga_id"]),
        Direction(row["direction"]),
        row["sender_did"],
        row["receiver_did"],
        row["amount"],
        row["currency"],
    )
