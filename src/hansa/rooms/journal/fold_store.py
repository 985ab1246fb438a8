"""The SQL that folds ledger events. Reads only.

Events are taken by the transaction that wrote them (`xid`), never by number or time: those commit out of order. An
event is settled when its transaction ended before the snapshot's oldest open one: no such event can appear later. An
event of a transaction that this cluster has not reached yet is a relic of another cluster, and settled as well.
"""

from collections.abc import AsyncIterator
from decimal import Decimal

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import UNIT

from .store import NEWEST_SEQUENCE

# A whole history takes longer than a request may.
FOLD_SECONDS = 900
MOVES_AT_ONCE = 2000

_HORIZON = f"""
SELECT now() AS began_at,
  plumbing_oldest_open() AS oldest_open,
  plumbing_not_begun() AS not_begun,
  {NEWEST_SEQUENCE} AS as_of_seq,
  (SELECT system_identifier FROM pg_control_system()) AS cluster
"""  # noqa: S608

# What the queries below share; $1 position, $2 relics, $3 oldest open, $4 not begun, $5 minor units to the unit. A row that
# stands for the events of a transfer has integers, whose sums cost a tenth of those of the JSON form's decimal strings: the
# two forms are folded apart, each exactly.
IS_LEDGER_EVENT = "v.event_type = 'LedgerBalanceChanged'"
_SINCE = f"{IS_LEDGER_EVENT} AND v.xid >= $1 AND v.seq > $2"
IS_SETTLED = "v.xid < $3 OR v.xid >= $4"

PAID = f"""
SELECT {IS_SETTLED} AS settled, v.aggregate_id AS payer, v.tx_type = 'capture' AS is_capture, v.terms,
  count(*) AS transactions, max(v.seq) FILTER (WHERE v.xid >= $4) AS relics_to_seq,
  -sum(v.amount + coalesce(v.freed, 0) + v.fee) AS delta, sum(v.freed) FILTER (WHERE v.freed_after IS NOT NULL) AS freed,
  sum(v.fee) FILTER (WHERE v.collector_after IS NOT NULL) AS fee, sum(v.fee) AS fees_collected,
  sum(lacking) FILTER (WHERE lacking <> 0) AS lacking, count(*) FILTER (WHERE lacking <> 0) AS unbalanced{{more}}
FROM (
  SELECT v.*, CASE WHEN v.freed_after IS NULL THEN coalesce(v.freed, 0) ELSE 0 END
    + CASE WHEN v.collector_after IS NULL THEN v.fee ELSE 0 END AS lacking
  FROM journal_event v WHERE {{since}} AND v.data IS NULL
) v GROUP BY 1, 2, 3, 4
"""  # noqa: S608
"""What rows that stand for transfers add up to, by payer. `lacking` is what left the payer and reached nobody."""

PAID_TERMS = """
SELECT settled, sum(transactions) AS transactions, max(relics_to_seq) AS relics_to_seq, 0 AS issued, 0 AS destroyed, 0 AS transit,
  sum(fees_collected) AS fees_collected, -coalesce(sum(lacking), 0) AS circulating, sum(unbalanced) AS unbalanced
FROM paid GROUP BY settled
"""
"""The terms of supply of `paid`."""

TERMS = """
SELECT settled, sum(transactions)::bigint AS transactions, coalesce(max(relics_to_seq), 0) AS relics_to_seq,
  coalesce(sum(issued), 0) AS issued, coalesce(sum(destroyed), 0) AS destroyed, coalesce(sum(transit), 0) AS transit,
  sum(fees_collected) AS fees_collected, coalesce(sum(circulating), 0) AS circulating, sum(unbalanced)::bigint AS unbalanced
FROM folded GROUP BY settled
"""
"""What the two forms add up to."""

CARRIED_TERMS = """
SELECT true AS settled, transactions, 0 AS relics_to_seq, issued, destroyed, transit, fees_collected, circulating, unbalanced
FROM journal_archive WHERE dropped_at IS NOT NULL
"""
"""The terms of supply of the months that were dropped (`archive/`)."""

CARRIED_MOVES = "SELECT true AS settled, account, bucket, balance AS delta FROM journal_carried"
"""Sums that the events of these months moved."""

CARRIED_TRANSACTIONS = """
SELECT tx_id FROM journal_archive a CROSS JOIN LATERAL unnest(a.tx_ids) AS numbers
  CROSS JOIN LATERAL generate_series(lower(numbers), upper(numbers) - 1) AS tx_id WHERE a.dropped_at IS NOT NULL
"""
"""The numbers of the ledger transactions of these months."""

_PAID_SINCE = PAID.format(since=_SINCE, more="")

_SUPPLY = f"""
WITH paid AS ({_PAID_SINCE}), folded AS (
  SELECT settled, count(*) AS transactions, max(seq) FILTER (WHERE is_relic) AS relics_to_seq,
    sum(net) FILTER (WHERE tx_type = 'issue') * $5 AS issued,
    -sum(net) FILTER (WHERE tx_type = 'destroy') * $5 AS destroyed,
    -sum(crossed) * $5 AS transit, sum(fee) * $5 AS fees_collected, sum(net - crossed) * $5 AS circulating,
    count(*) FILTER (WHERE net <> 0 AND tx_type NOT IN ('issue', 'destroy')) AS unbalanced
  FROM (
    SELECT v.seq, {IS_SETTLED} AS settled, v.xid >= $4 AS is_relic, v.data ->> 'tx_type' AS tx_type,
      (v.data ->> 'fee')::numeric AS fee, entries.net, entries.crossed
    FROM journal_event v CROSS JOIN LATERAL (
      -- Kept apart by its offset: merged into the sums it would be computed anew for each of them.
      SELECT sum((e ->> 'delta')::numeric) AS net,
        coalesce(sum((e ->> 'delta')::numeric) FILTER (WHERE e ->> 'bucket' = 'transit'), 0) AS crossed
      FROM jsonb_array_elements(v.data -> 'entries') e OFFSET 0
    ) entries
    WHERE {_SINCE} AND v.data IS NOT NULL
  ) moved GROUP BY settled
  UNION ALL {PAID_TERMS}
  UNION ALL {CARRIED_TERMS} AND $1 = 0
)
{TERMS}
"""  # noqa: S608

# The same entries that `journal_entries` gives for each row. Rows that stand for transfers are read by payer and by payee:
# each reading can be shared by several processes.
PAID_MOVES = f"""
SELECT settled, payer AS account, CASE WHEN is_capture THEN 'escrow' ELSE 'liquid' END AS bucket, delta FROM paid
UNION ALL SELECT settled, payer, 'liquid', freed FROM paid WHERE freed IS NOT NULL
UNION ALL SELECT settled, t.collector, 'liquid', fee FROM paid JOIN journal_transfer_terms t ON t.id = paid.terms
  WHERE fee IS NOT NULL
UNION ALL SELECT {IS_SETTLED}, v.payee, 'liquid', sum(v.amount) FROM journal_event v
  WHERE {{since}} AND v.data IS NULL GROUP BY 1, 2
"""  # noqa: S608
"""What the rows of `paid` moved, and what reached their payees."""

MOVES = """
SELECT account, bucket, coalesce(sum(delta) FILTER (WHERE settled), 0) AS settled,
  coalesce(sum(delta) FILTER (WHERE NOT settled), 0) AS pending
FROM moved GROUP BY account, bucket
"""
"""What both forms moved."""

_MOVES = f"""
WITH paid AS ({_PAID_SINCE}), moved AS (
  SELECT {
    IS_SETTLED
} AS settled, e ->> 'account' AS account, e ->> 'bucket' AS bucket, (e ->> 'delta')::numeric * $5 AS delta
  FROM journal_event v CROSS JOIN LATERAL jsonb_array_elements(v.data -> 'entries') e
  WHERE {_SINCE} AND v.data IS NOT NULL
  UNION ALL {PAID_MOVES.format(since=_SINCE)}
  UNION ALL {CARRIED_MOVES} WHERE $1 = 0
)
{MOVES}
"""  # noqa: S608

# Who issues or destroys units records a typed event with the amount beside the ledger's own.
_ISSUING = "('TokensIssued', 'DisputeCompensationMinted')"
_DESTROYING = "('TokensDestroyed', 'DisputeSlash')"

_TYPED = f"""
SELECT coalesce(sum(amount) FILTER (WHERE event_type IN {_ISSUING}), 0) * $1
    + (SELECT coalesce(sum(typed_issued), 0) FROM journal_archive) AS issued,
  coalesce(sum(amount) FILTER (WHERE event_type IN {_DESTROYING}), 0) * $1
    + (SELECT coalesce(sum(typed_destroyed), 0) FROM journal_archive) AS destroyed
FROM (
  SELECT event_type, (data ->> 'amount')::numeric AS amount FROM journal_event
  WHERE event_type IN {_ISSUING} OR event_type IN {_DESTROYING}
) typed
"""  # noqa: S608

Bounds = tuple[int, int, int, int]
"""$1 to $4 of the queries."""

RECORDED_TRANSACTIONS = f"""
SELECT coalesce(tx_id, (data ->> 'tx_id')::bigint) AS tx_id FROM journal_event
WHERE event_type = 'LedgerBalanceChanged' AND xid >= $1 AND ($1 = 0 OR seq > $2)
UNION ALL {CARRIED_TRANSACTIONS} AND $1 = 0
"""  # noqa: S608
"""A relation to join: which ledger transactions have an event, from position $1 on, relics up to $2 left out."""


class Move(msgspec.Struct, frozen=True):
    """Sum of the ledger events in one bucket of an account, in minor units: settled ones, and the others."""

    account: str
    bucket: str
    settled: Decimal
    pending: Decimal


async def read_horizon(tx: Tx) -> asyncpg.Record:
    """Return the order of transactions that this snapshot sees."""
    row = await tx.fetchrow(_HORIZON)
    assert row is not None
    return row


async def fold_supply(tx: Tx, bounds: Bounds) -> list[asyncpg.Record]:
    """Totals of the settled events and of the others."""
    return await tx.fetch(_SUPPLY, *bounds, UNIT, timeout=FOLD_SECONDS)


async def sum_typed_supply(tx: Tx) -> asyncpg.Record:
    """Return the sums of the events of issuing and of destroying, from the first one on."""
    row = await tx.fetchrow(_TYPED, UNIT, timeout=FOLD_SECONDS)
    assert row is not None
    return row


def fold_moves(tx: Tx, bounds: Bounds) -> AsyncIterator[list[Move]]:
    """Yield the gain or loss of each bucket, some at a time."""
    return moves_of(tx, _MOVES, *bounds, UNIT)


async def moves_of(tx: Tx, query: str, *values: int) -> AsyncIterator[list[Move]]:
    """The moves that a query reads, some at a time: a million at once would be a gigabyte here, and seconds without another answer."""
    moves: list[Move] = []
    async for row in tx.cursor(query, *values, prefetch=MOVES_AT_ONCE, timeout=FOLD_SECONDS):
        moves.append(Move(**row))
        if len(moves) == MOVES_AT_ONCE:
            yield moves
            moves = []
    if moves:
        yield moves
