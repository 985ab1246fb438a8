"""Invariants of all payment tokens at every moment, read from the tables in plain SQL."""

from hansa.foundation.plumbing.storage.database import Tx
from tests.all_events import ALL_EVENTS

_BROKEN = f"""
WITH ended AS (
  SELECT data ->> 'token_id' AS token_id, count(*) FILTER (WHERE event_type = 'A2APaymentSettled') AS settled,
    count(*) FILTER (WHERE event_type = 'A2APaymentFailed') AS failed
  FROM {ALL_EVENTS} e WHERE event_type IN ('A2APaymentSettled', 'A2APaymentFailed') GROUP BY 1
), paid AS (
  SELECT ref, count(*) AS times, min(id) AS tx_id, sum(amount) AS amount FROM ledger_transaction
  WHERE ref LIKE 'a2a-pay-%' AND tx_type IN ('transfer', 'capture') GROUP BY ref
), token AS (
  SELECT t.*, coalesce(t.capture_amount, t.amount) AS price, t.status IN ('authorized', 'consumed', 'settling') AS is_open,
    -- What the token takes of its caller's budget.
    CASE WHEN t.status = 'settled' THEN coalesce(t.capture_amount, t.amount)
      WHEN t.status IN ('released', 'expired', 'failed') THEN 0 ELSE t.amount END AS taken
  FROM commerce_payment_token t
)
SELECT 'not paid exactly when settled, once, in full' AS rule, t.id::text AS subject
FROM token t LEFT JOIN paid p ON p.ref = 'a2a-pay-' || t.id
WHERE (t.status = 'settled') <> (p.ref IS NOT NULL) OR p.times <> 1 OR p.tx_id <> t.tx_id OR p.amount <> t.price
UNION ALL
SELECT 'a payment has no token', ref FROM paid WHERE ref NOT IN (SELECT 'a2a-pay-' || id FROM token)
UNION ALL
SELECT 'not exactly one event of its end', t.id::text FROM token t LEFT JOIN ended e ON e.token_id = t.id::text
WHERE coalesce(e.settled, 0) <> (t.status = 'settled')::int OR coalesce(e.failed, 0) <> (t.status = 'failed')::int
UNION ALL
SELECT 'its hold is not open exactly while it is', t.id::text FROM token t LEFT JOIN ledger_hold h ON h.id = t.hold_id
WHERE t.is_reserved <> (h.id IS NOT NULL) OR h.owner_id <> t.id::text OR t.is_open <> (h.remaining > 0)
UNION ALL
SELECT 'a hold has no token', id::text FROM ledger_hold
WHERE owner_kind = 'payment_token' AND id NOT IN (SELECT hold_id FROM token WHERE hold_id IS NOT NULL)
UNION ALL
SELECT 'a spend policy counts something else', a.did FROM agents_agent a
LEFT JOIN (SELECT agent_id, sum(spent) AS spent FROM agents_spending GROUP BY 1) s ON s.agent_id = a.id
WHERE coalesce(s.spent, 0)
  <> (SELECT coalesce(sum(t.taken), 0) FROM token t WHERE t.caller = a.did AND t.is_counted)
UNION ALL
SELECT 'a capability counts something else', c.id::text FROM agents_capability c
WHERE (c.spent, c.uses) <> (
  SELECT coalesce(sum(t.taken), 0), count(*) FILTER (WHERE t.taken > 0) FROM token t WHERE t.capability_id = c.id)
"""


async def prove_tokens(tx: Tx) -> None:
    """Tokens, payments, holds, budgets and events agree; for agents whose every payment is one of a token."""
    broken = [tuple(row) for row in await tx.fetch(_BROKEN)]
    assert broken == []


async def open_tokens(tx: Tx) -> list[str]:
    """The tokens that have not ended."""
    rows = await tx.fetch(
        "SELECT id FROM commerce_payment_token WHERE status IN ('authorized', 'consumed', 'settling')"
    )
    return [str(row["id"]) for row in rows]
