"""The SQL of a replay on the registry's own database: recorded transactions, holds and balances before them. Reads only."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx

from .movements import Change, Movement

FETCHED_AT_ONCE = 2000
STREAM_SECONDS = 3600.0

# Both parties are named: without them the postings of a transaction are found by no index.
_MOVEMENTS = """
SELECT t.id, t.tx_type, payer.did AS payer, payee.did AS payee, t.amount, t.fee, t.ref, t.hold_id, t.recorded_at,
  h.owner_kind AS held_for, held_payee.did AS hold_payee, coalesce(h.fee_held, 0) AS fee_held,
  p.accounts, p.buckets, p.deltas, p.afters
FROM ledger_transaction t
LEFT JOIN ledger_account payer ON payer.id = t.payer_id LEFT JOIN ledger_account payee ON payee.id = t.payee_id
LEFT JOIN ledger_hold h ON h.id = t.hold_id LEFT JOIN ledger_account held_payee ON held_payee.id = h.payee_id
CROSS JOIN LATERAL (
  SELECT array_agg(CASE WHEN q.account_id = t.payer_id THEN payer.did ELSE payee.did END) AS accounts,
    array_agg(q.bucket) AS buckets, array_agg(q.delta) AS deltas, array_agg(q.balance_after) AS afters
  FROM ledger_posting q WHERE q.account_id IN (t.payer_id, t.payee_id) AND q.tx_id = t.id
) p
WHERE t.id BETWEEN $1 AND $2 ORDER BY t.id
"""
_BACKWARDS = "SELECT id, recorded_at FROM ledger_transaction WHERE id < $1 ORDER BY id DESC"
_COLLECTED = """
SELECT coalesce(sum(p.balance_after), 0)::bigint FROM ledger_account a CROSS JOIN LATERAL (
  SELECT q.balance_after FROM ledger_posting q WHERE q.account_id = a.id AND q.bucket = 'liquid' AND q.tx_id < $2
  ORDER BY q.tx_id DESC LIMIT 1
) p
WHERE a.did = ANY ($1)
"""
# The present state, less what was taken since.
_HOLDS = """
SELECT h.id, h.owner_kind, payer.did AS payer, h.amount, h.fee_held, h.captured - coalesce(since.amount, 0)::bigint AS captured,
  h.fee_captured - coalesce(since.fee, 0)::bigint AS fee_captured
FROM ledger_hold h JOIN ledger_account payer ON payer.id = h.payer_id LEFT JOIN (
  SELECT t.hold_id, sum(t.amount) AS amount, sum(t.fee) FILTER (WHERE t.tx_type IN ('capture', 'destroy')) AS fee
  FROM ledger_transaction t
  WHERE t.id >= $2 AND t.hold_id = ANY ($1) AND t.tx_type IN ('capture', 'destroy', 'launch', 'trade') GROUP BY t.hold_id
) since ON since.hold_id = h.id
WHERE h.id = ANY ($1) ORDER BY h.id
"""


async def movements(tx: Tx, first: int, last: int) -> AsyncIterator[Movement]:
    """Yield the transactions from `first` to `last` in the order of their ids, which is that of the balances of each account."""
    async for row in tx.cursor(_MOVEMENTS, first, last, prefetch=FETCHED_AT_ONCE, timeout=STREAM_SECONDS):
        changes = zip(row["accounts"], row["buckets"], row["deltas"], row["afters"], strict=True)
        yield Movement(
            row["id"],
            row["tx_type"],
            row["payer"],
            row["payee"],
            row["amount"],
            row["fee"],
            row["ref"],
            row["hold_id"],
            row["recorded_at"],
            tuple(Change(*one) for one in changes),
            row["held_for"],
            row["hold_payee"],
            row["fee_held"],
        )


async def first_within(tx: Tx, before: int, span: timedelta) -> int:
    """The first transaction of the time `span` that ends with the transaction `before`; that one itself without any."""
    began: datetime | None = await tx.fetchval(
        "SELECT recorded_at FROM ledger_transaction WHERE id = $1", before
    )
    assert began is not None, "a period begins with a transaction"
    first = before
    async for row in tx.cursor(_BACKWARDS, before, prefetch=FETCHED_AT_ONCE, timeout=STREAM_SECONDS):
        if row["recorded_at"] < began - span:
            break
        first = row["id"]
    return first


async def collected_before(tx: Tx, collectors: Sequence[str], tx_id: int) -> int:
    """The liquid units of all accounts that collect fees, before this transaction."""
    collected: int = await tx.fetchval(_COLLECTED, list(collectors), tx_id)
    return collected


async def holds_before(tx: Tx, hold_ids: Sequence[int], tx_id: int) -> list[asyncpg.Record]:
    """These holds as they were before this transaction, which is after they were opened."""
    return await tx.fetch(_HOLDS, list(hold_ids), tx_id)
