"""Invariants of the book at every moment, read from the tables in plain SQL."""

from collections.abc import Awaitable, Callable
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from tests.all_events import ALL_EVENTS

_BROKEN = f"""
WITH balance_changed AS (
  SELECT id, (data ->> 'tx_id')::bigint AS tx_id, data, idempotency_key
  FROM {ALL_EVENTS} e WHERE event_type = 'LedgerBalanceChanged'
), entry AS (
  SELECT b.tx_id, e ->> 'account' AS did, e ->> 'bucket' AS bucket,
    (e ->> 'delta')::numeric * 100000000 AS delta, (e ->> 'balance_after')::numeric * 100000000 AS balance_after
  FROM balance_changed b, jsonb_array_elements(b.data -> 'entries') e
), posting AS (
  SELECT p.tx_id, a.did, p.bucket, p.delta::numeric AS delta, p.balance_after::numeric AS balance_after
  FROM ledger_posting p JOIN ledger_account a ON a.id = p.account_id
), balance AS (
  SELECT did, 'liquid' AS bucket, liquid AS held FROM ledger_account
  UNION ALL SELECT did, 'staked', staked FROM ledger_account
  UNION ALL SELECT did, 'escrow', escrow FROM ledger_account
  UNION ALL SELECT did, 'transit', transit FROM ledger_account
)
SELECT 'postings do not sum to zero, or to what is issued or destroyed' AS rule, t.id::text AS subject
FROM ledger_transaction t LEFT JOIN ledger_posting p ON p.tx_id = t.id GROUP BY t.id
HAVING coalesce(sum(p.delta), 0)
  <> CASE t.tx_type WHEN 'issue' THEN t.amount WHEN 'destroy' THEN -t.amount ELSE 0 END
UNION ALL
SELECT 'a posting belongs to no transaction', tx_id::text FROM ledger_posting
WHERE tx_id NOT IN (SELECT id FROM ledger_transaction)
UNION ALL
SELECT 'a balance is not the fold of its postings', b.did || ' ' || b.bucket
FROM balance b LEFT JOIN posting p USING (did, bucket) GROUP BY b.did, b.bucket, b.held
HAVING coalesce(sum(p.delta), 0) <> b.held
UNION ALL
SELECT 'a balance is not the fold of its events', b.did || ' ' || b.bucket
FROM balance b LEFT JOIN entry e USING (did, bucket) GROUP BY b.did, b.bucket, b.held
HAVING coalesce(sum(e.delta), 0) <> b.held
UNION ALL
SELECT 'a balance after is not the running sum', running.did || ' ' || running.tx_id FROM (
  SELECT did, tx_id, balance_after, sum(delta) OVER (PARTITION BY did, bucket ORDER BY tx_id) AS total FROM posting
) running WHERE running.total <> running.balance_after
UNION ALL
SELECT 'not exactly one LedgerBalanceChanged for a transaction', t.id::text
FROM ledger_transaction t LEFT JOIN balance_changed b ON b.tx_id = t.id GROUP BY t.id HAVING count(b.id) <> 1
UNION ALL
SELECT 'a LedgerBalanceChanged has no transaction or not its key', b.id::text FROM balance_changed b
WHERE b.tx_id NOT IN (SELECT id FROM ledger_transaction)
  OR b.idempotency_key <> 'ledger-tx-' || (b.data ->> 'frame') || '-' || b.tx_id
UNION ALL
SELECT 'entries and postings differ', tx_id::text FROM (
  (SELECT * FROM entry EXCEPT ALL SELECT * FROM posting)
  UNION ALL (SELECT * FROM posting EXCEPT ALL SELECT * FROM entry)
) differing
UNION ALL
SELECT 'a balance is negative', did FROM balance WHERE held < 0 AND bucket <> 'transit'
"""


async def prove_book(tx: Tx) -> None:
    """Every posting, balance and event agrees with every other."""
    broken = [tuple(row) for row in await tx.fetch(_BROKEN)]
    assert broken == []


async def prove_supply(read_supply: Callable[[], Awaitable[dict[str, Any]]]) -> None:
    """The registry itself says that no unit was made or lost."""
    verdict = await read_supply()
    assert (verdict["status"], verdict["delta"]) == ("OK", "0")
