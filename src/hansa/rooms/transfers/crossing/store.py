"""SQL of pairs, their chains, and the statements of both directions of a pair. Locks: the row of the pair first.

The SQL of evidence that payments from peers give. Locks: the row of the pair first.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx

from .messages import NOWHERE, Position, positions_at
from .pair_chain import Crossing, Pair
from .row_columns import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, columns

_OPEN_PAIR = "INSERT INTO transfers_pair (peer) VALUES ($1) ON CONFLICT DO NOTHING"
_PAIR = "SELECT * FROM transfers_pair WHERE peer = $1"
_WRITE_PAIR = """
UPDATE transfers_pair SET own_epoch = $2, own_seq = $3, own_head = $4, seen_epoch = $5, seen_seq = $6, seen_head = $7,
  crossing = $8, nonce = $9, floor_epoch = $10, floor_seq = $11, floor_head = $12, shown = $13,
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
UPDATE transfers_sent SET receipt = NULL, receipt_epoch = NULL, receipt_seq = NULL, credited_at = NULL, tries = 0,
  next_at = CASE WHEN state = 'in_doubt' THEN NULL ELSE clock_timestamp() END
WHERE peer = $1 AND state <> 'reserved'
"""
_REOPEN_RECEIVED = """
UPDATE transfers_received SET is_closed = false, tries = 0, next_at = clock_timestamp()
WHERE peer = $1 AND state IN ('committed', 'aborted')
"""
_REOPEN_SAGAS = """
UPDATE transfers_bridge_saga SET next_at = clock_timestamp(), tries = 0 WHERE peer = $1 AND state <> 'IN_DOUBT'
"""
_REOPEN_DECISIONS = """
UPDATE transfers_bridge_decision SET next_at = clock_timestamp(), tries = 0 WHERE peer = $1 AND NOT is_in_doubt
"""
_ASK_AGAIN = f"""
UPDATE transfers_pair SET ask_at = clock_timestamp() + make_interval(secs => {FIRST_PAUSE_SECONDS})
WHERE peer = $1 AND ask_at <= clock_timestamp() RETURNING true
"""  # noqa: S608
_REST = [
    f"UPDATE {table} SET {column} = clock_timestamp() + make_interval(secs => {LONGEST_PAUSE_SECONDS})"  # noqa: S608
    f" WHERE peer = $1 AND {column} <= clock_timestamp()"
    for table, column in (
        ("transfers_pair", "ask_at"),
        ("transfers_sent", "next_at"),
        ("transfers_received", "next_at"),
    )
]
_PEERS_DUE = """
SELECT peer FROM transfers_pair AS pair
WHERE ask_at <= clock_timestamp()
  OR EXISTS (SELECT FROM transfers_sent WHERE peer = pair.peer AND next_at <= clock_timestamp())
  OR EXISTS (SELECT FROM transfers_received WHERE peer = pair.peer AND next_at <= clock_timestamp())
"""
HAS_PEER_DUE = Question(f"SELECT EXISTS ({_PEERS_DUE})")
"""Whether a peer is to be sent something now."""
_TODAY = "(clock_timestamp() AT TIME ZONE 'UTC')::date"
_COUNTED_TODAY = f"SELECT fee FROM transfers_counted_fee WHERE peer = $1 AND day = {_TODAY}"  # noqa: S608
_COUNT_TODAY = f"""
INSERT INTO transfers_counted_fee AS c (peer, day, fee) VALUES ($1, {_TODAY}, $2)
ON CONFLICT (peer, day) DO UPDATE SET fee = c.fee + excluded.fee
"""  # noqa: S608


_UNDECIDED = """
SELECT 'out' AS direction, transfer_id, peer, frame, sender_did, receiver_did, amount, currency, state, created_at,
  crossing = 'awaiting_heads' AS waits_for_heads
FROM transfers_sent JOIN transfers_pair USING (peer) WHERE state IN ('reserved', 'in_doubt')
UNION ALL
SELECT 'in', transfer_id, peer, frame, sender_did, receiver_did, amount, currency, state, created_at, false
FROM transfers_received WHERE state = 'prepared'
UNION ALL
SELECT 'out', saga_id, peer, frame, sender_did, receiver_did, amount, currency, 'in_doubt', created_at, false
FROM transfers_bridge_saga WHERE state = 'IN_DOUBT'
UNION ALL
SELECT 'in', saga_id, peer, frame, sender_did, receiver_did, amount, currency, 'in_doubt', decided_at, false
FROM transfers_bridge_decision WHERE is_in_doubt
ORDER BY created_at LIMIT $1
"""


async def lock_pair(tx: Tx, peer: str) -> Pair:
    """The pair with this peer, locked; opened where there is none."""
    row = await tx.fetchrow(_PAIR + " FOR NO KEY UPDATE", peer)
    if row is None:
        await open_pair(tx, peer)
        row = await tx.fetchrow(_PAIR + " FOR NO KEY UPDATE", peer)
    assert row is not None
    return _pair(row)


async def lock_pair_alone(tx: Tx, peer: str) -> Pair:
    """Lock the pair against new reserves and sagas with the peer too: they wait, and find the pair as this transaction leaves it."""
    return await _opened_pair(tx, peer, "FOR UPDATE")


async def share_pair(tx: Tx, peer: str) -> Pair:
    """The pair with this peer, which stays until the transaction ends."""
    return await _opened_pair(tx, peer, "FOR KEY SHARE")


async def _opened_pair(tx: Tx, peer: str, lock: str) -> Pair:
    await open_pair(tx, peer)
    row = await tx.fetchrow(f"{_PAIR} {lock}", peer)
    assert row is not None
    return _pair(row)


async def open_pair(tx: Tx, peer: str) -> None:
    """Write the pair with this peer unless there is one."""
    await tx.execute(_OPEN_PAIR, peer)


async def find_pair(tx: Tx, peer: str) -> Pair:
    """The pair with this peer as it stands; a new one where there is none."""
    row = await tx.fetchrow(_PAIR, peer)
    return Pair(peer=peer) if row is None else _pair(row)


async def write_pair(tx: Tx, peer: str, pair: Pair) -> None:
    """Write the changes of a locked pair."""
    own, seen, floor = pair.own, pair.seen, pair.floor
    positions = (own.epoch, own.seq, own.head, seen.epoch, seen.seq, seen.head)
    lowest = (floor.epoch, floor.seq, floor.head)
    await tx.execute(
        _WRITE_PAIR, peer, *positions, pair.crossing.value, pair.nonce, *lowest, pair.shown and pair.shown.raw
    )


class Entry(msgspec.Struct, frozen=True):
    """A decision or a receipt with its place in the own chain."""

    position: Position
    kind: str
    transfer_id: UUID


async def add_entries(tx: Tx, peer: str, entries: Sequence[Entry]) -> None:
    """Append to the own chain; a place is written once."""
    if entries:
        rows = [(e.position.epoch, e.position.seq, e.position.head, e.kind, e.transfer_id) for e in entries]
        await tx.execute(_ADD_ENTRIES, peer, *columns(rows))


async def heads_at(tx: Tx, peer: str, positions: Collection[Position]) -> dict[tuple[int, int], str]:
    """The own hashes at those of the places where there are any, by epoch and number."""
    epochs, numbers = [one.epoch for one in positions], [one.seq for one in positions]
    return {(row["epoch"], row["seq"]): row["head"] for row in await tx.fetch(_HEADS, peer, epochs, numbers)}


async def reopen(tx: Tx, peer: str) -> None:
    """Let every decision and receipt be sent until it is answered again."""
    await tx.execute(_REOPEN_SENT, peer)
    await tx.execute(_REOPEN_RECEIVED, peer)
    await tx.execute("UPDATE transfers_pair SET dropped_epoch = 0, dropped_seq = 0 WHERE peer = $1", peer)
    await tx.execute(_REOPEN_SAGAS, peer)
    await tx.execute(_REOPEN_DECISIONS, peer)


async def rest(tx: Tx, peer: str) -> None:
    """Put off the messages that are due to a peer that is not known any more."""
    for statement in _REST:
        await tx.execute(statement, peer)


async def is_settled(tx: Tx, peer: str) -> bool:
    """Return whether both sides hold the receipt of every transfer with this peer."""
    statement = (
        "SELECT NOT EXISTS (SELECT FROM transfers_sent WHERE peer = $1 AND (next_at IS NOT NULL OR state = 'in_doubt'))"
        " AND NOT EXISTS (SELECT FROM transfers_received WHERE peer = $1 AND next_at IS NOT NULL)"
    )
    return bool(await tx.fetchval(statement, peer))


async def take_question(tx: Tx, peer: str) -> bool:
    """Return whether the question about the heads is due; the next time is set."""
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


def _pair(row: asyncpg.Record) -> Pair:
    seen = Position(row["seen_epoch"], row["seen_seq"], row["seen_head"])
    return Pair(
        Position(row["own_epoch"], row["own_seq"], row["own_head"]),
        seen,
        Crossing(row["crossing"]),
        row["nonce"],
        Position(row["floor_epoch"], row["floor_seq"], row["floor_head"]),
        None if row["shown"] is None else positions_at(seen, NOWHERE, raw=row["shown"]),
        row["peer"],
    )


async def payees_that_count(tx: Tx, payees: Sequence[str]) -> set[str]:
    """The agents whose record a payment from another registry enters."""
    statement = "SELECT did FROM unnest($1::text[]) did WHERE transfers_payee_counts(did)"
    return {row["did"] for row in await tx.fetch(statement, list(payees))}


async def counted_today(tx: Tx, peer: str) -> int:
    """The fees of this peer that count today, in minor units."""
    return await tx.fetchval(_COUNTED_TODAY, peer) or 0


async def count_today(tx: Tx, peer: str, fee: int) -> None:
    """Add fees that count to those of today."""
    await tx.execute(_COUNT_TODAY, peer, fee)
