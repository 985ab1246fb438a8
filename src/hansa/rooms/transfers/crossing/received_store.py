"""The SQL of transfers that enter. Locks: a row only under the row of its pair, or alone."""

from collections.abc import Sequence
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from .envelope import stored_message
from .messages import PAYING
from .row_columns import FIRST_PAUSE_SECONDS, PAUSE, body_columns, body_of, columns, swap_values
from .states import Received, ReceivedState

_WRITE_RECEIVED = f"""
INSERT INTO transfers_received AS row (peer, transfer_id, frame, sender_did, receiver_did, amount, currency, memo, state,
  net, fee, code, decision, is_closed, currency_received, min_amount_out, amount_out, quote_id, purpose, entry_epoch,
  entry_seq, decided_at, next_at)
SELECT $1, n.transfer_id, $2, n.sender_did, n.receiver_did, n.amount, n.currency, n.memo, n.state, n.net, n.fee, n.code,
  n.decision, n.is_closed, n.currency_received, n.min_amount_out, n.amount_out, n.quote_id, n.purpose,
  n.entry_epoch, n.entry_seq, CASE WHEN n.decision IS NOT NULL THEN clock_timestamp() END,
  CASE WHEN NOT n.is_closed AND n.state <> 'refused'
    THEN clock_timestamp() + make_interval(secs => {FIRST_PAUSE_SECONDS}) END
FROM unnest($3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::bigint[],
  $11::bigint[], $12::text[], $13::text[], $14::boolean[], $15::text[], $16::bigint[], $17::bigint[], $18::uuid[],
  $19::text[], $20::bigint[], $21::bigint[]) AS n (transfer_id, sender_did, receiver_did, amount, currency, memo, state, net, fee, code, decision, is_closed,
  currency_received, min_amount_out, amount_out, quote_id, purpose, entry_epoch, entry_seq)
ON CONFLICT (peer, transfer_id) DO UPDATE SET state = excluded.state, net = excluded.net, fee = excluded.fee,
  code = excluded.code, decision = excluded.decision, is_closed = excluded.is_closed,
  entry_epoch = excluded.entry_epoch, entry_seq = excluded.entry_seq,
  decided_at = coalesce(row.decided_at, excluded.decided_at),
  tries = CASE WHEN row.state = excluded.state THEN row.tries ELSE 0 END,
  next_at = CASE WHEN row.state = excluded.state AND row.next_at IS NOT NULL AND excluded.next_at IS NOT NULL
    THEN row.next_at ELSE excluded.next_at END
"""  # noqa: S608

_TOMBSTONES = """
SELECT count(*) FROM (SELECT FROM transfers_received WHERE peer = $1 AND state IN ('refused', 'aborted') LIMIT $2) AS kept
"""

_TAKE_RECEIVED = f"""
UPDATE transfers_received SET tries = tries + 1, next_at = clock_timestamp() + {PAUSE}
WHERE peer = $1 AND transfer_id IN (SELECT transfer_id FROM transfers_received
  WHERE peer = $1 AND next_at <= clock_timestamp() ORDER BY next_at LIMIT $2) RETURNING *
"""  # noqa: S608


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


async def lock_promised(tx: Tx, peer: str) -> list[Received]:
    """The transfers of this peer that are prepared and not decided, locked."""
    statement = (
        "SELECT * FROM transfers_received WHERE peer = $1 AND state = 'prepared'"
        " ORDER BY transfer_id FOR NO KEY UPDATE"
    )
    return [received_of_row(row) for row in await tx.fetch(statement, peer)]


_PAYMENTS = """
SELECT transfer_id, sender_did, receiver_did, CASE WHEN currency_received IS NULL THEN amount ELSE net END AS amount
FROM transfers_received WHERE peer = $1 AND transfer_id = ANY ($2) AND state = 'committed' AND purpose = ANY ($3)
ORDER BY transfer_id
"""


class PaymentReceived(msgspec.Struct, frozen=True):
    """Units that an agent of a peer paid for a payment token or a part of a contract; `amount` in minor units of this registry.

    It includes the border fee, as the payer's contract or token does.
    """

    transfer_id: UUID
    sender_did: str
    receiver_did: str
    amount: int


async def payments_received(tx: Tx, peer: str, transfer_ids: Sequence[UUID]) -> list[PaymentReceived]:
    """Those of these transfers of a peer that are credited here and paid a token or a contract."""
    rows = await tx.fetch(_PAYMENTS, peer, list(transfer_ids), sorted(PAYING))
    return [PaymentReceived(**row) for row in rows]


async def received_of(tx: Tx, transfer_id: UUID, receiver_did: str) -> asyncpg.Record | None:
    """A transfer to this agent, whatever peer it is from."""
    statement = "SELECT * FROM transfers_received WHERE transfer_id = $1 AND receiver_did = $2 LIMIT 1"
    return await tx.fetchrow(statement, transfer_id, receiver_did)


async def received_with(tx: Tx, transfer_id: UUID, most: int) -> list[asyncpg.Record]:
    """The transfers with this id, of which each peer may have one."""
    statement = "SELECT * FROM transfers_received WHERE transfer_id = $1 ORDER BY peer LIMIT $2"
    return list(await tx.fetch(statement, transfer_id, most))


async def write_received(tx: Tx, peer: str, frame: str, changed: Sequence[Received]) -> None:
    """Write steps of transfers that enter, under the lock of the pair."""
    if not changed:
        return
    rows = [
        (
            *body_columns(one.body),
            one.state.value,
            one.net,
            one.fee,
            one.code,
            one.decision.raw if one.decision else None,
            one.is_closed,
            *swap_values(one.body.swap),
            one.body.purpose,
            *(one.place or (None, None)),
        )
        for one in changed
    ]
    await tx.execute(_WRITE_RECEIVED, peer, frame, *columns(rows))


async def tombstones(tx: Tx, peer: str, most: int) -> int:
    """How many refused and aborted transfers of this peer are kept, counted up to `most`."""
    count: int = await tx.fetchval(_TOMBSTONES, peer, most)
    return count


async def take_due_received(tx: Tx, peer: str, most: int) -> list[Received]:
    """Return the transfers that enter and are due a message to the peer now; the next time is set. See `take_due_sent`."""
    return [received_of_row(row) for row in await tx.fetch(_TAKE_RECEIVED, peer, most)]


def received_of_row(row: asyncpg.Record) -> Received:
    """The state that the protocol sees."""
    return Received(
        body_of(row),
        ReceivedState(row["state"]),
        row["net"],
        row["fee"],
        row["code"],
        None if row["decision"] is None else stored_message(row["decision"]),
        row["is_closed"],
        None if row["entry_seq"] is None else (row["entry_epoch"], row["entry_seq"]),
    )
