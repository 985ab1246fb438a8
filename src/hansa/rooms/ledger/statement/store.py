"""SQL of statements: readings along the postings of one account, newest first, by its primary key."""

from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import ledger_id_of_transit
from hansa.foundation.values.money import Minor

from .records import Line, StatementFilter

_MATCHING = """
FROM ledger_account own
JOIN ledger_posting p ON p.account_id = own.id
JOIN ledger_transaction t ON t.id = p.tx_id
  -- One line for each transaction: its liquid side, of a payment from a hold that of escrow, of a compounded reward that of the stake.
  AND p.bucket = CASE WHEN t.tx_type IN ('capture', 'launch', 'trade') AND t.hold_id IS NOT NULL AND t.payer_id = own.id
    THEN 'escrow' WHEN t.tx_type = 'compound' AND t.payee_id = own.id THEN 'staked' ELSE 'liquid' END
LEFT JOIN ledger_account other
  ON other.id = CASE WHEN t.payer_id = own.id THEN t.payee_id ELSE t.payer_id END AND other.id <> own.id
-- Units that crossed: the other party is an agent of another registry.
LEFT JOIN ledger_account transit ON t.tx_type IN ('out', 'in', 'return') AND transit.unit = ''
  AND transit.did = replace(other.did, ':system:fx:', ':system:transit:')
LEFT JOIN ledger_crossing crossed ON crossed.transit_id = transit.id
  AND crossed.direction = ANY (CASE t.tx_type WHEN 'in' THEN '{in,swap_in}' ELSE '{out,swap_out}' END::text[])
  AND crossed.transfer_id = CASE WHEN t.tx_type IN ('out', 'in', 'return') THEN t.ref::uuid END
WHERE own.did = $1
  AND ($2::text IS NULL OR (CASE WHEN p.delta < 0 THEN 'sent' ELSE 'received' END) = $2)
  AND ($3::text IS NULL OR t.tx_type = $3)
  AND ($4::text IS NULL OR coalesce(crossed.counterparty, other.did) = $4)
  AND ($5::timestamptz IS NULL OR t.recorded_at >= $5)
  AND ($6::timestamptz IS NULL OR t.recorded_at < $6)
"""

_LINES = f"""
SELECT t.id AS tx_id, t.tx_type, CASE WHEN p.delta < 0 THEN 'sent' ELSE 'received' END AS direction,
  CASE WHEN crossed.transit_id IS NULL THEN other.did ELSE crossed.counterparty END AS counterparty,
  CASE WHEN crossed.transit_id IS NOT NULL THEN transit.did END AS transit,
  -- The payee pays a fee that lies inside the amount.
  t.amount - CASE WHEN t.tx_type = 'in' OR t.tx_type IN ('launch', 'trade') AND t.payee_id = own.id THEN t.fee ELSE 0 END
    AS amount,
  CASE WHEN t.payer_id = own.id AND t.tx_type NOT IN ('launch', 'trade') THEN t.fee ELSE 0 END AS fee,
  CASE p.bucket WHEN 'liquid' THEN p.balance_after ELSE coalesce((
    SELECT l.balance_after FROM ledger_posting l
    WHERE l.account_id = own.id AND l.tx_id <= p.tx_id AND l.bucket = 'liquid' ORDER BY l.tx_id DESC LIMIT 1), 0)
  END AS balance_after, t.message, t.recorded_at
{_MATCHING} AND ($7::bigint IS NULL OR p.tx_id < $7)
ORDER BY p.tx_id DESC LIMIT $8 OFFSET $9
"""  # noqa: S608

_COUNT = f"SELECT count(*) {_MATCHING}"


async def lines(tx: Tx, did: str, statement_filter: StatementFilter) -> list[Line]:
    """One page."""
    rows = await tx.fetch(
        _LINES,
        did,
        *_filters(statement_filter),
        statement_filter.before,
        statement_filter.limit,
        statement_filter.offset,
    )
    return [_line(dict(row)) for row in rows]


async def count(tx: Tx, did: str, statement_filter: StatementFilter) -> int:
    """How many match, on every page."""
    total: int = await tx.fetchval(_COUNT, did, *_filters(statement_filter))
    return total


async def collected(tx: Tx, collector: str) -> Minor:
    """Balances of the accounts that collect fees."""
    return Minor(
        await tx.fetchval(
            "SELECT sum(liquid)::bigint FROM ledger_account WHERE did = ANY (ledger_collectors($1))",
            collector,
        )
    )


def _line(row: dict[str, Any]) -> Line:
    transit = row.pop("transit")
    return Line(**row, counterparty_registry=transit and ledger_id_of_transit(transit))


def _filters(statement_filter: StatementFilter) -> tuple[object, ...]:
    return (
        statement_filter.direction,
        statement_filter.tx_type,
        statement_filter.counterparty,
        statement_filter.since,
        statement_filter.until,
    )
