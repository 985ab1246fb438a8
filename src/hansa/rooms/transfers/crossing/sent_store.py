"""The SQL of transfers that leave. Locks: a row only under the row of its pair, or alone."""

from collections.abc import Sequence
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from .envelope import stored_message
from .messages import DROPPED, Code, Message, MessageType
from .row_columns import FIRST_PAUSE_SECONDS, PAUSE, body_columns, body_of, columns, swap_values
from .states import Sent, SentState

_WRITE_SENT = f"""
INSERT INTO transfers_sent AS row (transfer_id, peer, frame, sender_did, receiver_did, amount, currency, memo, state,
  expected_fee, code, prepared, receipt, currency_received, min_amount_out, amount_out, quote_id, purpose, receipt_epoch,
  receipt_seq, backend, deadline, decided_at, credited_at, next_at)
SELECT n.transfer_id, $1, $2, n.sender_did, n.receiver_did, n.amount, n.currency, n.memo, n.state, n.expected_fee, n.code,
  n.prepared, n.receipt, n.currency_received, n.min_amount_out, n.amount_out, n.quote_id, n.purpose,
  n.receipt_epoch, n.receipt_seq, '2pc', clock_timestamp(), clock_timestamp(),
  CASE WHEN n.state = 'committed' AND n.receipt IS NOT NULL THEN clock_timestamp() END,
  CASE WHEN n.receipt IS NULL AND n.state <> 'in_doubt'
    THEN clock_timestamp() + make_interval(secs => {FIRST_PAUSE_SECONDS}) END
FROM unnest($3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::bigint[], $11::text[],
  $12::text[], $13::text[], $14::text[], $15::bigint[], $16::bigint[], $17::uuid[], $18::text[],
  $19::bigint[], $20::bigint[]) AS n (transfer_id, sender_did,
  receiver_did, amount, currency, memo, state, expected_fee, code, prepared, receipt, currency_received, min_amount_out,
  amount_out, quote_id, purpose, receipt_epoch, receipt_seq)
ON CONFLICT (transfer_id) DO UPDATE SET state = excluded.state, code = excluded.code, prepared = excluded.prepared,
  receipt = excluded.receipt, receipt_epoch = coalesce(excluded.receipt_epoch, row.receipt_epoch),
  receipt_seq = coalesce(excluded.receipt_seq, row.receipt_seq),
  decided_at = CASE WHEN excluded.state = 'reserved' THEN NULL ELSE coalesce(row.decided_at, excluded.decided_at) END,
  credited_at = coalesce(row.credited_at, excluded.credited_at),
  tries = CASE WHEN row.state = excluded.state THEN row.tries ELSE 0 END,
  next_at = CASE WHEN excluded.next_at IS NULL THEN NULL WHEN row.state = excluded.state AND row.next_at IS NOT NULL
    THEN row.next_at ELSE excluded.next_at END
WHERE row.peer = excluded.peer
"""  # noqa: S608

_TAKE_SENT = f"""
UPDATE transfers_sent SET tries = tries + 1, next_at = least(clock_timestamp() + {PAUSE},
  CASE WHEN state = 'reserved' AND deadline > clock_timestamp() THEN deadline END)
WHERE transfer_id IN (SELECT transfer_id FROM transfers_sent WHERE peer = $1 AND next_at <= clock_timestamp()
  ORDER BY next_at LIMIT $2) RETURNING *
"""  # noqa: S608

_END_TIME = """
UPDATE transfers_sent SET deadline = least(deadline, clock_timestamp()), next_at = clock_timestamp()
WHERE transfer_id = $1 AND state = 'reserved'
"""

_TOMBSTONES = """
SELECT count(*) FROM (SELECT FROM transfers_sent WHERE peer = $1 AND state = 'aborted' AND code = 'UNKNOWN' LIMIT $2) AS kept
"""

_HAS_DOUBT = """
SELECT EXISTS (SELECT FROM transfers_sent WHERE peer = $1 AND state = 'in_doubt')
  OR EXISTS (SELECT FROM transfers_bridge_saga WHERE peer = $1 AND state = 'IN_DOUBT')
  OR EXISTS (SELECT FROM transfers_bridge_decision WHERE peer = $1 AND is_in_doubt)
"""


_OUTCOMES = """
SELECT transfer_id, state, code, backend, sender_did, receiver_did, frame, amount, currency, currency_received, min_amount_out,
  amount_out, expected_fee, balance_after, memo, created_at, decided_at, credited_at,
  CASE WHEN currency_received IS NOT NULL THEN prepared END AS prepared
FROM transfers_sent WHERE transfer_id = ANY ($1)
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
    grant_id: UUID | None = None


async def sent_row(tx: Tx, transfer_id: UUID) -> asyncpg.Record | None:
    """A transfer that left, as it is kept."""
    return await tx.fetchrow("SELECT * FROM transfers_sent WHERE transfer_id = $1", transfer_id)


async def outcomes(tx: Tx, transfer_ids: Sequence[UUID]) -> dict[UUID, asyncpg.Record]:
    """Return the columns of several transfers that callers read: the promise only of swaps, which it prices, and not the receipt."""
    return {row["transfer_id"]: row for row in await tx.fetch(_OUTCOMES, transfer_ids)}


def promise_of(row: asyncpg.Record) -> Message | None:
    """Return the promise of the receiver's registry, as far as it was read."""
    return None if row["prepared"] is None else stored_message(row["prepared"])


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


async def lock_undecided(tx: Tx, peer: str) -> list[Sent]:
    """The transfers to this peer that are not decided, or whose decision has no units, locked."""
    statement = (
        "SELECT * FROM transfers_sent WHERE peer = $1 AND state IN ('reserved', 'in_doubt')"
        " ORDER BY transfer_id FOR NO KEY UPDATE"
    )
    return [sent_of(row) for row in await tx.fetch(statement, peer)]


async def write_sent(tx: Tx, peer: str, frame: str, changed: Sequence[Sent]) -> None:
    """Write steps of transfers that leave, under the lock of the pair."""
    if not changed:
        return
    rows = [
        (
            *body_columns(one.body),
            one.state.value,
            one.expected_fee,
            one.code,
            one.prepared.raw if one.prepared else None,
            one.receipt.raw if one.receipt else None,
            *swap_values(one.body.swap),
            one.body.purpose,
            *((one.receipt and one.receipt.place) or (None, None)),
        )
        for one in changed
    ]
    written = await tx.execute(_WRITE_SENT, peer, frame, *columns(rows))
    assert written.endswith(f" {len(rows)}"), "a transfer belongs to one peer"


async def tombstones(tx: Tx, peer: str, most: int) -> int:
    """Count the aborted transfers that this peer named and this registry did not know, up to `most`."""
    count: int = await tx.fetchval(_TOMBSTONES, peer, most)
    return count


async def has_doubt(tx: Tx, peer: str) -> bool:
    """Return whether a transfer to this peer, or a saga with it, was decided before a restore and has no units now."""
    return bool(await tx.fetchval(_HAS_DOUBT, peer))


async def take_due_sent(tx: Tx, peer: str, most: int) -> list[Sent]:
    """Transfers of which the peer is sent something now; the next time is set."""
    return [sent_of(row) for row in await tx.fetch(_TAKE_SENT, peer, most)]


async def end_time(tx: Tx, transfer_id: UUID) -> None:
    """The deadline of a transfer that is not decided has come."""
    await tx.execute(_END_TIME, transfer_id)


def sent_of(row: asyncpg.Record) -> Sent:
    """The state that the protocol sees."""
    return Sent(
        body_of(row),
        SentState(row["state"]),
        row["deadline"].timestamp(),
        row["expected_fee"],
        promise_of(row),
        row["code"],
        _receipt_of(row),
    )


def _receipt_of(row: asyncpg.Record) -> Message | None:
    text: str | None = row["receipt"]
    if text is None:
        return None
    code = Code.COMMITTED if row["state"] == SentState.COMMITTED else Code.ABORTED
    return (
        stored_message(text) if text else Message(MessageType.RECEIPT, body_of(row), code=code, raw=DROPPED)
    )
