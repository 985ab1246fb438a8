"""The SQL of crossings. Locks: the row of the pair first; rows of transfers only under it, or alone."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.money import Minor

from .envelope import kept_message
from .messages import Body, Position, Swap
from .pair_chain import Crossing, Pair
from .states import Received, ReceivedState, Sent, SentState

FIRST_PAUSE_SECONDS = 2
LONGEST_PAUSE_SECONDS = 300

_PAUSE = (
    f"make_interval(secs => least({FIRST_PAUSE_SECONDS} * 2 ^ least(tries, 16), {LONGEST_PAUSE_SECONDS}))"
)

_OPEN_PAIR = "INSERT INTO transfers_pair (peer) VALUES ($1) ON CONFLICT DO NOTHING"

_PAIR = "SELECT * FROM transfers_pair WHERE peer = $1"

_WRITE_PAIR = """
UPDATE transfers_pair SET own_epoch = $2, own_seq = $3, own_head = $4, seen_epoch = $5, seen_seq = $6, seen_head = $7,
  crossing = $8, nonce = $9, floor_epoch = $10, floor_seq = $11, floor_head = $12,
  ask_at = CASE WHEN $9::text IS NULL THEN NULL WHEN nonce = $9 THEN ask_at ELSE clock_timestamp() END
WHERE peer = $1
"""

_ADD_ENTRIES = """
INSERT INTO transfers_entry (peer, epoch, seq, head, entry, transfer_id)
SELECT $1, n.* FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::uuid[]) n
"""

# Each place is found by its whole key, however long the chain is.
_HEADS = """
SELECT seen.epoch, seen.seq, own.head FROM unnest($2::bigint[], $3::bigint[]) AS seen (epoch, seq)
CROSS JOIN LATERAL (
  SELECT e.head FROM transfers_entry e WHERE e.peer = $1 AND e.epoch = seen.epoch AND e.seq = seen.seq LIMIT 1
) own
"""

_REOPEN_SENT = """
UPDATE transfers_sent SET receipt = NULL, credited_at = NULL, tries = 0,
  next_at = CASE WHEN state = 'in_doubt' THEN NULL ELSE clock_timestamp() END
WHERE peer = $1 AND state <> 'reserved'
"""

_REOPEN_RECEIVED = """
UPDATE transfers_received SET is_closed = false, tries = 0, next_at = clock_timestamp()
WHERE peer = $1 AND state IN ('committed', 'aborted')
"""

_WRITE_SENT = f"""
INSERT INTO transfers_sent AS row (transfer_id, peer, frame, sender_did, receiver_did, amount, currency, memo, state,
  expected_fee, code, prepared, receipt, currency_received, min_amount_out, amount_out, quote_id, purpose, backend, deadline,
  decided_at, credited_at, next_at)
SELECT n.transfer_id, $1, $2, n.sender_did, n.receiver_did, n.amount, n.currency, n.memo, n.state, n.expected_fee, n.code,
  n.prepared, n.receipt, n.currency_received, n.min_amount_out, n.amount_out, n.quote_id, n.purpose, '2pc', clock_timestamp(), clock_timestamp(),
  CASE WHEN n.state = 'committed' AND n.receipt IS NOT NULL THEN clock_timestamp() END,
  CASE WHEN n.receipt IS NULL AND n.state <> 'in_doubt'
    THEN clock_timestamp() + make_interval(secs => {FIRST_PAUSE_SECONDS}) END
FROM unnest($3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::bigint[], $11::text[],
  $12::text[], $13::text[], $14::text[], $15::bigint[], $16::bigint[], $17::uuid[], $18::text[]) AS n (transfer_id, sender_did,
  receiver_did, amount, currency, memo, state, expected_fee, code, prepared, receipt, currency_received, min_amount_out,
  amount_out, quote_id, purpose)
ON CONFLICT (transfer_id) DO UPDATE SET state = excluded.state, code = excluded.code, prepared = excluded.prepared,
  receipt = excluded.receipt,
  decided_at = CASE WHEN excluded.state = 'reserved' THEN NULL ELSE coalesce(row.decided_at, excluded.decided_at) END,
  credited_at = coalesce(row.credited_at, excluded.credited_at),
  tries = CASE WHEN row.state = excluded.state THEN row.tries ELSE 0 END,
  next_at = CASE WHEN excluded.next_at IS NULL THEN NULL WHEN row.state = excluded.state AND row.next_at IS NOT NULL
    THEN row.next_at ELSE excluded.next_at END
WHERE row.peer = excluded.peer
"""  # noqa: S608

_WRITE_RECEIVED = f"""
INSERT INTO transfers_received AS row (peer, transfer_id, frame, sender_did, receiver_did, amount, currency, memo, state,
  net, fee, code, decision, is_closed, currency_received, min_amount_out, amount_out, quote_id, purpose, decided_at, next_at)
SELECT $1, n.transfer_id, $2, n.sender_did, n.receiver_did, n.amount, n.currency, n.memo, n.state, n.net, n.fee, n.code,
  n.decision, n.is_closed, n.currency_received, n.min_amount_out, n.amount_out, n.quote_id, n.purpose, CASE WHEN n.decision IS NOT NULL THEN clock_timestamp() END,
  CASE WHEN NOT n.is_closed AND n.state <> 'refused'
    THEN clock_timestamp() + make_interval(secs => {FIRST_PAUSE_SECONDS}) END
FROM unnest($3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::bigint[],
  $11::bigint[], $12::text[], $13::text[], $14::boolean[], $15::text[], $16::bigint[], $17::bigint[], $18::uuid[],
  $19::text[]) AS n (transfer_id, sender_did, receiver_did, amount, currency, memo, state, net, fee, code, decision, is_closed,
  currency_received, min_amount_out, amount_out, quote_id, purpose)
ON CONFLICT (peer, transfer_id) DO UPDATE SET state = excluded.state, net = excluded.net, fee = excluded.fee,
  code = excluded.code, decision = excluded.decision, is_closed = excluded.is_closed,
  decided_at = coalesce(row.decided_at, excluded.decided_at),
  tries = CASE WHEN row.state = excluded.state THEN row.tries ELSE 0 END,
  next_at = CASE WHEN row.state = excluded.state AND row.next_at IS NOT NULL AND excluded.next_at IS NOT NULL
    THEN row.next_at ELSE excluded.next_at END
"""  # noqa: S608

_TOMBSTONES = """
SELECT count(*) FROM (SELECT FROM transfers_received WHERE peer = $1 AND state IN ('refused', 'aborted') LIMIT $2) AS kept
"""

_TAKE_SENT = f"""
UPDATE transfers_sent SET tries = tries + 1, next_at = least(clock_timestamp() + {_PAUSE},
  CASE WHEN state = 'reserved' AND deadline > clock_timestamp() THEN deadline END)
WHERE transfer_id IN (SELECT transfer_id FROM transfers_sent WHERE peer = $1 AND next_at <= clock_timestamp()
  ORDER BY next_at LIMIT $2) RETURNING *
"""  # noqa: S608

_TAKE_RECEIVED = f"""
UPDATE transfers_received SET tries = tries + 1, next_at = clock_timestamp() + {_PAUSE}
WHERE peer = $1 AND transfer_id IN (SELECT transfer_id FROM transfers_received
  WHERE peer = $1 AND next_at <= clock_timestamp() ORDER BY next_at LIMIT $2) RETURNING *
"""  # noqa: S608

_ASK_AGAIN = f"""
UPDATE transfers_pair SET ask_at = clock_timestamp() + make_interval(secs => {FIRST_PAUSE_SECONDS})
WHERE peer = $1 AND ask_at <= clock_timestamp() RETURNING true
"""  # noqa: S608

_PEERS_DUE = """
SELECT peer FROM transfers_pair AS pair
WHERE ask_at <= clock_timestamp()
  OR EXISTS (SELECT FROM transfers_sent WHERE peer = pair.peer AND next_at <= clock_timestamp())
  OR EXISTS (SELECT FROM transfers_received WHERE peer = pair.peer AND next_at <= clock_timestamp())
"""

_UNDECIDED = """
SELECT 'out' AS direction, transfer_id, peer, frame, sender_did, receiver_did, amount, currency, state, created_at
FROM transfers_sent WHERE state IN ('reserved', 'in_doubt')
UNION ALL
SELECT 'in', transfer_id, peer, frame, sender_did, receiver_did, amount, currency, state, created_at
FROM transfers_received WHERE state = 'prepared'
ORDER BY created_at LIMIT $1
"""


class NewSent(msgspec.Struct, frozen=True):
    """A transfer to be reserved; seconds are counted from now, `request_scope` is in hex."""

    transfer_id: UUID
    peer: str
    frame: str
    sender_did: str
    receiver_did: str
    amount: Minor
    currency: str
    memo: str | None
    expected_fee: Minor
    backend: str
    is_counted: bool
    capability_id: UUID | None
    request_scope: str | None
    deadline_seconds: float
    first_retry_seconds: float
    currency_received: str | None = None
    min_amount_out: Minor | None = None
    amount_out: Minor | None = None
    quote_id: UUID | None = None
    purpose: str | None = None


async def lock_pair(tx: Tx, peer: str) -> Pair:
    """The pair with this peer, locked; opened where there is none."""
    row = await tx.fetchrow(_PAIR + " FOR NO KEY UPDATE", peer)
    if row is None:
        await open_pair(tx, peer)
        row = await tx.fetchrow(_PAIR + " FOR NO KEY UPDATE", peer)
    assert row is not None
    return _pair(row)


async def open_pair(tx: Tx, peer: str) -> None:
    """Write the pair with this peer unless there is one."""
    await tx.execute(_OPEN_PAIR, peer)


async def find_pair(tx: Tx, peer: str) -> Pair:
    """The pair with this peer as it stands; a new one where there is none."""
    row = await tx.fetchrow(_PAIR, peer)
    return Pair() if row is None else _pair(row)


async def write_pair(tx: Tx, peer: str, pair: Pair) -> None:
    """Write what changed of a locked pair."""
    own, seen, floor = pair.own, pair.seen, pair.floor
    positions = (own.epoch, own.seq, own.head, seen.epoch, seen.seq, seen.head)
    lowest = (floor.epoch, floor.seq, floor.head)
    await tx.execute(_WRITE_PAIR, peer, *positions, pair.crossing.value, pair.nonce, *lowest)


@dataclass(frozen=True)
class Entry:
    """A decision or a receipt with its place in the own chain."""

    position: Position
    kind: str
    transfer_id: UUID


async def add_entries(tx: Tx, peer: str, entries: Sequence[Entry]) -> None:
    """Append to the own chain; a place is written once."""
    if entries:
        rows = [(e.position.epoch, e.position.seq, e.position.head, e.kind, e.transfer_id) for e in entries]
        await tx.execute(_ADD_ENTRIES, peer, *_columns(rows))


async def heads_at(tx: Tx, peer: str, positions: Collection[Position]) -> dict[tuple[int, int], str]:
    """The own hashes at those of the places where there are any, by epoch and number."""
    epochs, numbers = [one.epoch for one in positions], [one.seq for one in positions]
    return {(row["epoch"], row["seq"]): row["head"] for row in await tx.fetch(_HEADS, peer, epochs, numbers)}


async def reopen(tx: Tx, peer: str) -> None:
    """Let every decision and receipt be sent until it is answered again."""
    await tx.execute(_REOPEN_SENT, peer)
    await tx.execute(_REOPEN_RECEIVED, peer)


async def sent_row(tx: Tx, transfer_id: UUID) -> asyncpg.Record | None:
    """A transfer that left, as it is kept."""
    return await tx.fetchrow("SELECT * FROM transfers_sent WHERE transfer_id = $1", transfer_id)


async def sent_rows(tx: Tx, transfer_ids: Sequence[UUID]) -> dict[UUID, asyncpg.Record]:
    """As `sent_row`, of several."""
    statement = "SELECT * FROM transfers_sent WHERE transfer_id = ANY ($1)"
    return {row["transfer_id"]: row for row in await tx.fetch(statement, transfer_ids)}


async def lock_sent(
    tx: Tx, peer: str, transfer_ids: Sequence[UUID]
) -> tuple[dict[str, Sent], frozenset[str]]:
    """Those of the transfers that left for this peer, locked, by id; and the ids that left for another one."""
    if not transfer_ids:
        return {}, frozenset()
    statement = (
        "SELECT * FROM transfers_sent WHERE transfer_id = ANY ($1) ORDER BY transfer_id FOR NO KEY UPDATE"
    )
    rows = await tx.fetch(statement, transfer_ids)
    of_others = frozenset(str(row["transfer_id"]) for row in rows if row["peer"] != peer)
    return {str(row["transfer_id"]): sent_of(row) for row in rows if row["peer"] == peer}, of_others


async def lock_received(tx: Tx, peer: str, transfer_ids: Sequence[UUID]) -> dict[str, Received]:
    """Those of the transfers that enter from this peer, locked, by id."""
    if not transfer_ids:
        return {}
    statement = (
        "SELECT * FROM transfers_received WHERE peer = $1 AND transfer_id = ANY ($2)"
        " ORDER BY transfer_id FOR NO KEY UPDATE"
    )
    rows = await tx.fetch(statement, peer, transfer_ids)
    return {str(row["transfer_id"]): received_of_row(row) for row in rows}


async def received_of(tx: Tx, transfer_id: UUID, receiver_did: str) -> asyncpg.Record | None:
    """A transfer to this agent, whatever peer it is from."""
    statement = "SELECT * FROM transfers_received WHERE transfer_id = $1 AND receiver_did = $2 LIMIT 1"
    return await tx.fetchrow(statement, transfer_id, receiver_did)


async def write_sent(tx: Tx, peer: str, frame: str, changed: Sequence[Sent]) -> None:
    """Write steps of transfers that leave, under the lock of the pair."""
    if not changed:
        return
    rows = [
        (
            *_members(one.body),
            one.state.value,
            one.expected_fee,
            one.code,
            one.prepared.raw if one.prepared else None,
            one.receipt.raw if one.receipt else None,
            *_swap_members(one.body.swap),
            one.body.purpose,
        )
        for one in changed
    ]
    written = await tx.execute(_WRITE_SENT, peer, frame, *_columns(rows))
    assert written.endswith(f" {len(rows)}"), "a transfer belongs to one peer"


async def write_received(tx: Tx, peer: str, frame: str, changed: Sequence[Received]) -> None:
    """Write steps of transfers that enter, under the lock of the pair."""
    if not changed:
        return
    rows = [
        (
            *_members(one.body),
            one.state.value,
            one.net,
            one.fee,
            one.code,
            one.decision.raw if one.decision else None,
            one.is_closed,
            *_swap_members(one.body.swap),
            one.body.purpose,
        )
        for one in changed
    ]
    await tx.execute(_WRITE_RECEIVED, peer, frame, *_columns(rows))


async def tombstones(tx: Tx, peer: str, most: int) -> int:
    """How many refused and aborted transfers of this peer are kept, counted up to `most`."""
    count: int = await tx.fetchval(_TOMBSTONES, peer, most)
    return count


async def payees_that_count(tx: Tx, payees: Sequence[str]) -> set[str]:
    """The agents whose record a payment from another registry enters."""
    statement = "SELECT did FROM unnest($1::text[]) did WHERE transfers_payee_counts(did)"
    return {row["did"] for row in await tx.fetch(statement, list(payees))}


async def has_doubt(tx: Tx, peer: str) -> bool:
    """Whether a transfer to this peer was committed before a restore and has no units now."""
    statement = "SELECT EXISTS (SELECT FROM transfers_sent WHERE peer = $1 AND state = 'in_doubt')"
    return bool(await tx.fetchval(statement, peer))


async def is_settled(tx: Tx, peer: str) -> bool:
    """Whether both sides hold the receipt of every transfer with this peer."""
    statement = (
        "SELECT NOT EXISTS (SELECT FROM transfers_sent WHERE peer = $1 AND (next_at IS NOT NULL OR state = 'in_doubt'))"
        " AND NOT EXISTS (SELECT FROM transfers_received WHERE peer = $1 AND next_at IS NOT NULL)"
    )
    return bool(await tx.fetchval(statement, peer))


async def take_due_sent(tx: Tx, peer: str, most: int) -> list[Sent]:
    """Transfers of which the peer is sent something now; the next time is set."""
    return [sent_of(row) for row in await tx.fetch(_TAKE_SENT, peer, most)]


async def take_due_received(tx: Tx, peer: str, most: int) -> list[Received]:
    """As `take_due_sent`, of those that enter."""
    return [received_of_row(row) for row in await tx.fetch(_TAKE_RECEIVED, peer, most)]


async def take_question(tx: Tx, peer: str) -> bool:
    """Whether the question about the heads is due; the next time is set."""
    return bool(await tx.fetchval(_ASK_AGAIN, peer))


async def peers(tx: Tx) -> list[str]:
    """Every peer with which units crossed or may have."""
    return [row["peer"] for row in await tx.fetch("SELECT peer FROM transfers_pair ORDER BY peer")]


async def places(tx: Tx) -> dict[str, tuple[int, int]]:
    """Epoch and number of the own chain for each peer."""
    rows = await tx.fetch("SELECT peer, own_epoch, own_seq FROM transfers_pair")
    return {row["peer"]: (row["own_epoch"], row["own_seq"]) for row in rows}


async def peers_due(tx: Tx) -> list[str]:
    """The peers that are to be sent something now."""
    return [row["peer"] for row in await tx.fetch(_PEERS_DUE)]


async def undecided(tx: Tx, most: int) -> list[asyncpg.Record]:
    """Transfers whose outcome is not known here, the oldest first."""
    return list(await tx.fetch(_UNDECIDED, most))


async def now(tx: Tx) -> float:
    """The time of the database, in seconds since 1970."""
    seconds: float = await tx.fetchval("SELECT extract(epoch FROM clock_timestamp())::float8")
    return seconds


def sent_of(row: asyncpg.Record) -> Sent:
    """The state that the protocol sees."""
    return Sent(
        _body(row),
        SentState(row["state"]),
        row["deadline"].timestamp(),
        row["expected_fee"],
        None if row["prepared"] is None else kept_message(row["prepared"]),
        row["code"],
        None if row["receipt"] is None else kept_message(row["receipt"]),
    )


def received_of_row(row: asyncpg.Record) -> Received:
    """The state that the protocol sees."""
    return Received(
        _body(row),
        ReceivedState(row["state"]),
        row["net"],
        row["fee"],
        row["code"],
        None if row["decision"] is None else kept_message(row["decision"]),
        row["is_closed"],
    )


def _body(row: asyncpg.Record) -> Body:
    return Body(
        str(row["transfer_id"]),
        row["sender_did"],
        row["receiver_did"],
        row["amount"],
        row["currency"],
        row["memo"],
        _swap(row),
        row["purpose"],
    )


def _swap(row: asyncpg.Record) -> Swap | None:
    if row["currency_received"] is None:
        return None
    quote_id = row["quote_id"]
    return Swap(
        row["currency_received"],
        row["min_amount_out"],
        row["amount_out"],
        None if quote_id is None else str(quote_id),
    )


def swap_columns(swap: Swap | None) -> dict[str, Any]:
    """The members of a new row that a swap has."""
    names = ("currency_received", "min_amount_out", "amount_out", "quote_id")
    return dict(zip(names, _swap_members(swap), strict=True))


def _swap_members(swap: Swap | None) -> tuple[Any, ...]:
    if swap is None:
        return (None, None, None, None)
    quote_id = None if swap.quote_id is None else UUID(swap.quote_id)
    return (swap.currency_received, swap.min_amount_out, swap.amount_out, quote_id)


def _members(body: Body) -> tuple[Any, ...]:
    return (
        UUID(body.transfer_id),
        body.sender_did,
        body.receiver_did,
        body.amount,
        body.currency,
        body.memo,
    )


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """The rows as `unnest` takes them."""
    return [list(column) for column in zip(*rows, strict=True)]


def _pair(row: asyncpg.Record) -> Pair:
    return Pair(
        Position(row["own_epoch"], row["own_seq"], row["own_head"]),
        Position(row["seen_epoch"], row["seen_seq"], row["seen_head"]),
        Crossing(row["crossing"]),
        row["nonce"],
        Position(row["floor_epoch"], row["floor_seq"], row["floor_head"]),
    )
