"""The SQL of sagas and of decisions about sagas of peers. The row of a saga is locked before any units are."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents

from .envelope import shortest, stored_message
from .messages import Direction, Terms
from .sagas import Decision, Move, Saga, State

FIRST_PAUSE_SECONDS = 2
LONGEST_PAUSE_SECONDS = 300
FIRST_RETRY_SECONDS = 12.0
"""The job of the peer takes a saga over when the process that answers its caller has ended; a decision is repeated after it as well."""
REPEATED_SECONDS = 30.0
"""A destination that has not repeated its decision by then is shown it: it may have lost it."""

_STEPS = (
    "(SELECT jsonb_agg(jsonb_build_object('state', step, 'at', clock_timestamp()) ORDER BY n)"
    " FROM unnest({}::text[]) WITH ORDINALITY AS passed (step, n))"
)

_ADD = f"""
INSERT INTO transfers_bridge_saga (saga_id, direction, peer, frame, sender_did, receiver_did, amount, currency, state,
  history, hold_id, is_counted, capability_id, grant_id, request_scope, deadline, next_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, {_STEPS.format("$10")}, $11, $12, $13, $14, $15, to_timestamp($16),
  clock_timestamp() + make_interval(secs => $17))
"""  # noqa: S608

_ADD_FORGOTTEN = f"""
INSERT INTO transfers_bridge_saga (saga_id, direction, peer, frame, sender_did, receiver_did, amount, currency, state, answer,
  history, deadline, next_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, {_STEPS.format("$11")}, clock_timestamp(),
  CASE WHEN NOT $12 THEN clock_timestamp() END)
"""  # noqa: S608

_WRITE = f"""
UPDATE transfers_bridge_saga SET state = $2, code = $3, answer = coalesce($4, answer), history = history || coalesce({_STEPS.format("$5")}, '[]'),
  updated_at = CASE WHEN state = $2 THEN updated_at ELSE clock_timestamp() END,
  tries = CASE WHEN state = $2 THEN tries ELSE 0 END,
  next_at = CASE WHEN $6 THEN NULL WHEN state <> $2 AND $2 IN ('COMPLETED', 'REFUNDED', 'FAILED')
    THEN clock_timestamp() + make_interval(secs => {REPEATED_SECONDS})
    ELSE coalesce(next_at, clock_timestamp() + make_interval(secs => {FIRST_PAUSE_SECONDS})) END
WHERE saga_id = $1
"""  # noqa: S608

_OF_SENDER = """
SELECT * FROM transfers_bridge_saga WHERE sender_did = $1 ORDER BY created_at DESC, saga_id LIMIT $2
"""

_TAKE_DUE = f"""
UPDATE transfers_bridge_saga SET tries = tries + 1, next_at = least(CASE WHEN deadline > clock_timestamp() THEN deadline END,
  clock_timestamp() + make_interval(secs => least({FIRST_PAUSE_SECONDS} * 2 ^ least(tries, 16), {LONGEST_PAUSE_SECONDS})))
WHERE saga_id IN (SELECT saga_id FROM transfers_bridge_saga WHERE peer = $1 AND next_at IS NOT NULL
  AND (saga_id = $2 OR $2 IS NULL AND next_at <= clock_timestamp()) ORDER BY next_at LIMIT $3 FOR UPDATE)
RETURNING *
"""  # noqa: S608

_TAKE_UNCONFIRMED = f"""
UPDATE transfers_bridge_decision SET tries = tries + 1,
  next_at = clock_timestamp() + make_interval(secs => least({FIRST_PAUSE_SECONDS} * 2 ^ least(tries, 16), {LONGEST_PAUSE_SECONDS}))
WHERE (peer, saga_id) IN (SELECT peer, saga_id FROM transfers_bridge_decision WHERE peer = $1 AND next_at <= clock_timestamp()
  ORDER BY next_at LIMIT $2 FOR UPDATE)
RETURNING *
"""  # noqa: S608

_PEERS_DUE = """
SELECT peer FROM transfers_bridge_saga WHERE next_at <= clock_timestamp()
UNION SELECT peer FROM transfers_bridge_decision WHERE next_at <= clock_timestamp()
"""

HAS_PEER_DUE = Question(f"SELECT EXISTS ({_PEERS_DUE})")
"""Whether a peer is to be asked now."""

# A decision is made anew only on the own signature of before a restore.
_DECIDE = """
INSERT INTO transfers_bridge_decision AS row (peer, saga_id, direction, frame, sender_did, receiver_did, amount, currency, is_done,
  code, request, next_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
  CASE WHEN NOT $12 THEN clock_timestamp() + make_interval(secs => $13) END)
ON CONFLICT (peer, saga_id) DO UPDATE SET is_done = excluded.is_done, code = excluded.code, request = excluded.request,
  is_in_doubt = false, next_at = excluded.next_at, tries = 0,
  decided_at = CASE WHEN row.is_done = excluded.is_done THEN row.decided_at ELSE clock_timestamp() END
"""

_END_DOUBTS = "UPDATE transfers_bridge_decision SET is_in_doubt = false WHERE peer = $1 AND is_in_doubt"

# Messages due to a peer that is not known any more.
_REST = [
    f"UPDATE {table} SET next_at = clock_timestamp() + make_interval(secs => {LONGEST_PAUSE_SECONDS})"  # noqa: S608
    " WHERE peer = $1 AND next_at <= clock_timestamp()"
    for table in ("transfers_bridge_saga", "transfers_bridge_decision")
]

_TOMBSTONES = """
SELECT count(*) FROM (SELECT FROM transfers_bridge_decision WHERE peer = $1 AND NOT is_done LIMIT $2) AS kept
"""

_IS_SETTLED = """
SELECT NOT EXISTS (SELECT FROM transfers_bridge_saga WHERE peer = $1 AND next_at IS NOT NULL)
  AND NOT EXISTS (SELECT FROM transfers_bridge_decision WHERE peer = $1 AND next_at IS NOT NULL)
  AND NOT EXISTS (SELECT FROM transfers_bridge_saga WHERE peer = $1 AND state = 'IN_DOUBT')
  AND NOT EXISTS (SELECT FROM transfers_bridge_decision WHERE peer = $1 AND is_in_doubt)
"""


class StoredSaga(msgspec.Struct, frozen=True):
    """Saga of this registry with the facts that the commit of its outcome needs."""

    saga: Saga
    peer: str
    frame: str
    hold_id: int | None
    held: agents.HeldBudget
    request_scope: bytes | None
    created_at: datetime


class NewSaga(msgspec.Struct, frozen=True):
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
    assert saga is not None
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
        new.held.grant_id,
        new.request_scope,
        saga.deadline,
        FIRST_RETRY_SECONDS,
    )


async def add_forgotten(tx: Tx, peer: str, frame: str, move: Move) -> None:
    """Write a saga that was begun here before a restore."""
    saga = move.saga
    assert saga is not None
    terms = saga.terms
    await tx.execute(
        _ADD_FORGOTTEN,
        UUID(terms.saga_id),
        terms.direction.value,
        peer,
        frame,
        terms.sender_did,
        terms.receiver_did,
        terms.amount,
        terms.currency,
        saga.state.value,
        None if saga.answer is None else shortest(saga.answer),
        [str(step) for step in move.passed],
        _is_quiet(saga),
    )


async def find(tx: Tx, saga_id: UUID, *, lock: bool = False) -> StoredSaga | None:
    """A saga of this registry."""
    row = await saga_row(tx, saga_id, lock=lock)
    return None if row is None else _kept(row)


async def saga_row(tx: Tx, saga_id: UUID, *, lock: bool = False) -> asyncpg.Record | None:
    """Return the row of the saga that `find` reads."""
    statement = "SELECT * FROM transfers_bridge_saga WHERE saga_id = $1"
    return await tx.fetchrow(statement + (" FOR UPDATE" if lock else ""), saga_id)


async def rows_of_sender(tx: Tx, did: str, most: int) -> list[asyncpg.Record]:
    """The newest sagas that an agent began."""
    return list(await tx.fetch(_OF_SENDER, did, most))


async def decision_rows(tx: Tx, saga_id: UUID) -> list[asyncpg.Record]:
    """The decisions about sagas of peers with this id."""
    return list(await tx.fetch("SELECT * FROM transfers_bridge_decision WHERE saga_id = $1", saga_id))


async def write(tx: Tx, move: Move) -> None:
    """Write a move of a locked saga."""
    saga = move.saga
    assert saga is not None
    answer = shortest(saga.answer) if saga.answer else None
    steps = [str(step) for step in move.passed]
    await tx.execute(
        _WRITE, UUID(saga.terms.saga_id), saga.state.value, saga.code, answer, steps, _is_quiet(saga)
    )


async def lock_open(tx: Tx, peer: str) -> list[StoredSaga]:
    """The sagas with this peer that have not ended, locked."""
    statement = (
        "SELECT * FROM transfers_bridge_saga WHERE peer = $1 AND state NOT IN ('COMPLETED', 'REFUNDED', 'FAILED')"
        " ORDER BY saga_id FOR UPDATE"
    )
    return [_kept(row) for row in await tx.fetch(statement, peer)]


async def end_doubts(tx: Tx, peer: str) -> None:
    """No decision about a saga of this peer is in doubt any more."""
    await tx.execute(_END_DOUBTS, peer)


async def rest(tx: Tx, peer: str) -> None:
    """Put off the messages that are due to a peer that is not known any more."""
    for statement in _REST:
        await tx.execute(statement, peer)


async def take_due(tx: Tx, peer: str, most: int, only: UUID | None = None) -> list[StoredSaga]:
    """Sagas about which the peer is asked now, or only this one; locked, and the next time is set."""
    return [_kept(row) for row in await tx.fetch(_TAKE_DUE, peer, only, most)]


async def take_unconfirmed(tx: Tx, peer: str, most: int) -> list[Decision]:
    """Decisions that the peer has not confirmed and is sent now; the next time is set."""
    return [_decision(row) for row in await tx.fetch(_TAKE_UNCONFIRMED, peer, most)]


async def peers_due(tx: Tx) -> list[str]:
    """The peers that are to be asked now."""
    return [row["peer"] for row in await tx.fetch(_PEERS_DUE)]


async def decision(tx: Tx, peer: str, saga_id: UUID) -> Decision | None:
    """Return the decision about a saga of this peer."""
    statement = "SELECT * FROM transfers_bridge_decision WHERE peer = $1 AND saga_id = $2"
    row = await tx.fetchrow(statement, peer, saga_id)
    return None if row is None else _decision(row)


async def write_decision(tx: Tx, peer: str, frame: str, decided: Decision) -> None:
    """Record a decision and the request that the peer signed, under the lock of the pair."""
    terms = decided.terms
    assert decided.request is not None
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
        shortest(decided.request),
        decided.is_closed,
        FIRST_RETRY_SECONDS,
    )


async def close_decision(tx: Tx, peer: str, decided: Decision) -> None:
    """The source has the decision, or it is in doubt: it is not sent again by itself."""
    statement = "UPDATE transfers_bridge_decision SET next_at = NULL, is_in_doubt = $3 WHERE peer = $1 AND saga_id = $2"
    await tx.execute(statement, peer, UUID(decided.terms.saga_id), decided.is_in_doubt)


async def tombstones(tx: Tx, peer: str, most: int) -> int:
    """How many refused and cancelled sagas of this peer are kept, counted up to `most`."""
    count: int = await tx.fetchval(_TOMBSTONES, peer, most)
    return count


async def is_settled(tx: Tx, peer: str) -> bool:
    """Return whether no saga waits for an answer of this peer."""
    return bool(await tx.fetchval(_IS_SETTLED, peer))


def history_of(row: asyncpg.Record) -> list[dict[str, Any]]:
    """The states that a saga has passed, with their times."""
    return list(json.loads(row["history"]))


def _is_quiet(saga: Saga) -> bool:
    """Return whether nothing is sent about the saga by itself."""
    return saga.is_closed or saga.state is State.IN_DOUBT


def _decision(row: asyncpg.Record) -> Decision:
    return Decision(
        _terms(row),
        row["is_done"],
        row["code"],
        stored_message(row["request"]),
        is_closed=row["next_at"] is None,
        is_in_doubt=row["is_in_doubt"],
    )


def _kept(row: asyncpg.Record) -> StoredSaga:
    saga = Saga(
        _terms(row),
        State(row["state"]),
        row["deadline"].timestamp(),
        row["code"],
        None if row["answer"] is None else stored_message(row["answer"]),
        is_closed=row["next_at"] is None,
    )
    return StoredSaga(
        saga,
        row["peer"],
        row["frame"],
        row["hold_id"],
        agents.HeldBudget(row["is_counted"], row["capability_id"], row["grant_id"]),
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
