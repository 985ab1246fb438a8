"""The SQL of the past. Postings are final, so that reading them takes no locks."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import asyncpg
import msgspec

from hansa.foundation.events import ledger_key
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import journal

NEWEST = 2**63 - 1
FETCHED_AT_ONCE = 2000
BALANCES_SECONDS = 600.0

_UP_TO = """
SELECT p.tx_id, p.balance_after, t.recorded_at
FROM ledger_posting p JOIN ledger_transaction t ON t.id = p.tx_id
WHERE p.account_id = $1 AND p.bucket = $2 AND p.tx_id <= $3 ORDER BY p.tx_id DESC LIMIT 1
"""

_NEWER = """
SELECT DISTINCT p.tx_id FROM ledger_posting p
WHERE p.account_id = (SELECT id FROM ledger_account WHERE did = $1) AND p.tx_id > $2 ORDER BY p.tx_id LIMIT $3
"""

_OLDER = """
SELECT DISTINCT p.tx_id FROM ledger_posting p
WHERE p.account_id = (SELECT id FROM ledger_account WHERE did = $1) AND p.tx_id < $2 ORDER BY p.tx_id DESC LIMIT $3
"""

_COUNT = """
SELECT count(*) FROM (SELECT DISTINCT p.tx_id FROM ledger_posting p
  WHERE p.account_id = (SELECT id FROM ledger_account WHERE did = $1)) taken_part
"""

# System accounts pay no fees; of theirs there may be millions.
_COUNT_FEES = """
SELECT count(*) FROM ledger_account a JOIN ledger_posting p ON p.account_id = a.id AND p.bucket IN ('liquid', 'escrow')
JOIN ledger_transaction t ON t.id = p.tx_id AND t.payer_id = a.id AND t.fee > 0
  -- The payer of a capture pays out of escrow; a final one has a liquid side as well.
  AND (p.bucket = 'escrow') = (t.tx_type = 'capture')
  -- A fee of points lies inside the amount.
  AND t.tx_type NOT IN ('launch', 'trade')
WHERE a.did = $1 AND a.kind = 'agent'
"""

# Of a payment that an owner's act makes once, that act is recorded as well.
_COUNT_PAYMENTS = """
SELECT count(DISTINCT t.id) FROM ledger_account a JOIN ledger_posting p ON p.account_id = a.id
JOIN ledger_transaction t ON t.id = p.tx_id AND t.tx_type IN ('transfer', 'capture') AND t.ref IS NOT NULL
WHERE a.did = $1 AND a.kind = 'agent'
"""

# Only a movement is recorded of these.
_COUNT_UNTYPED = """
SELECT count(*) FROM ledger_posting p JOIN ledger_transaction t ON t.id = p.tx_id
WHERE p.account_id = (SELECT id FROM ledger_account WHERE did = $1)
  AND (p.bucket = 'escrow' AND t.tx_type IN ('hold', 'release', 'expire')
    OR p.bucket <> 'escrow' AND t.tx_type IN ('out', 'in', 'return', 'levy', 'distribution')
    OR t.tx_type IN ('launch', 'trade')
      AND (p.bucket = 'escrow') = (t.hold_id IS NOT NULL AND t.payer_id = p.account_id))
"""

_BALANCES = """
SELECT a.did, b.bucket, b.amount FROM ledger_account a
CROSS JOIN LATERAL (VALUES ('liquid', a.liquid), ('staked', a.staked), ('escrow', a.escrow), ('transit', a.transit))
  AS b (bucket, amount)
WHERE b.amount <> 0 ORDER BY a.did COLLATE "C", b.bucket COLLATE "C"
"""


# The newest postings of each account, whatever its history. Of an account with more of them the oldest transaction may be
# incomplete: everything up to it is left out.
_HOLDINGS = """
WITH own AS (
  SELECT id, did, liquid, staked, escrow FROM ledger_account WHERE did = ANY ($1) AND unit = ''
), recent AS (
  SELECT own.id AS account_id, newest.tx_id, newest.delta FROM own CROSS JOIN LATERAL (
    SELECT p.tx_id, p.delta FROM ledger_posting p WHERE p.account_id = own.id ORDER BY p.tx_id DESC LIMIT $2
  ) newest
), known AS (
  SELECT coalesce(max(cut.oldest), 0) AS after
  FROM (SELECT min(tx_id) AS oldest FROM recent GROUP BY account_id HAVING count(*) = $2) cut
), moved AS (
  SELECT r.tx_id, t.tx_type, t.recorded_at, sum(r.delta)::bigint AS net
  FROM recent r JOIN ledger_transaction t ON t.id = r.tx_id
  WHERE r.tx_id > (SELECT after FROM known) GROUP BY r.tx_id, t.tx_type, t.recorded_at
)
SELECT now() AS now, (SELECT json_agg(json_build_array(did, liquid, staked, escrow)) FROM own) AS balances,
  (SELECT json_agg(json_build_array(day, received, paid) ORDER BY day) FROM (
    SELECT (recorded_at AT TIME ZONE 'UTC')::date AS day, coalesce(sum(net) FILTER (WHERE net > 0), 0) AS received,
      coalesce(-sum(net) FILTER (WHERE net < 0), 0) AS paid
    FROM moved WHERE recorded_at >= now() - make_interval(days => $3) GROUP BY 1) by_day) AS days,
  (SELECT json_agg(json_build_array(tx_id, net, recorded_at) ORDER BY tx_id DESC)
    FROM (SELECT tx_id, net, recorded_at FROM moved ORDER BY tx_id DESC LIMIT $4) newest) AS newest,
  EXISTS (SELECT FROM moved WHERE tx_type IN ('transfer', 'capture', 'out', 'in')) AS has_payments,
  (SELECT min(recorded_at) FROM moved WHERE (SELECT after FROM known) > 0) AS known_since
"""


class Posting(msgspec.Struct, frozen=True):
    """One posting of a bucket; the balance in minor units."""

    tx_id: int
    balance_after: Minor
    recorded_at: datetime


async def account_id(tx: Tx, did: str) -> int | None:
    """The account of a DID."""
    number: int | None = await tx.fetchval("SELECT id FROM ledger_account WHERE did = $1", did)
    return number


async def posting_up_to(tx: Tx, account: int, bucket: str, tx_id: int) -> Posting | None:
    """The newest posting of an account's bucket that is of this transaction or an older one."""
    row = await tx.fetchrow(_UP_TO, account, bucket, tx_id)
    return Posting(row["tx_id"], Minor(row["balance_after"]), row["recorded_at"]) if row else None


async def holdings_of(
    tx: Tx, dids: Sequence[str], *, postings_max: int, days: int, newest: int
) -> asyncpg.Record:
    """Balances of several accounts, what they received and paid by day, and their newest transactions, in one statement."""
    row = await tx.fetchrow(_HOLDINGS, dids, postings_max, days, newest)
    assert row is not None
    return row


async def keys_of_account(
    tx: Tx, did: str, frame: str, position: int, limit: int, *, newest_first: bool
) -> list[journal.AccountKey]:
    """The event keys of an account's transactions after the transaction `position`, or before it, the nearest first."""
    rows = await tx.fetch(_OLDER if newest_first else _NEWER, did, position, limit)
    return [journal.AccountKey(row["tx_id"], ledger_key(frame, row["tx_id"])) for row in rows]


async def count_of_account(tx: Tx, did: str) -> journal.AccountCount:
    """How many transactions an account takes part in."""
    return journal.AccountCount(
        await tx.fetchval(_COUNT, did),
        untyped=await tx.fetchval(_COUNT_UNTYPED, did),
        with_fee_paid=await tx.fetchval(_COUNT_FEES, did),
        payments=await tx.fetchval(_COUNT_PAYMENTS, did),
    )


async def held_balances(tx: Tx) -> AsyncIterator[journal.Held]:
    """Yield the balance of every bucket of every account, ordered by account and bucket as bytes; empty ones are left out."""
    async for row in tx.cursor(_BALANCES, prefetch=FETCHED_AT_ONCE, timeout=BALANCES_SECONDS):
        yield journal.Held(row["did"], row["bucket"], Minor(row["amount"]))
