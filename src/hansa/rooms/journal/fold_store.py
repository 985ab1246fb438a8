"""The SQL that folds ledger events. Reads only.

Events are taken by the transaction that wrote them (`xid`), never by number or time: those commit out of order. An
event is settled when its transaction ended before the snapshot's oldest open one: no such event can appear later. An
event of a transaction that this cluster has not reached yet is a relic of another cluster, and settled as well.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal

import asyncpg

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.money import UNIT

from .store import NEWEST_SEQUENCE

# A whole history takes longer than a request may.
FOLD_SECONDS = 900
MOVES_AT_ONCE = 2000

_HORIZON = f"""
SELECT plumbing_oldest_open() AS oldest_open,
  plumbing_not_begun() AS not_begun,
  {NEWEST_SEQUENCE} AS as_of_seq,
  (SELECT system_identifier FROM pg_control_system()) AS cluster
"""  # noqa: S608

# Amounts in events are decimal strings; NUMERIC holds them exactly. $1 position, $2 relics, $3 oldest open, $4 not begun.
_SUPPLY = """
WITH moved AS (
  SELECT v.seq, v.xid < $3 OR v.xid >= $4 AS settled, v.xid >= $4 AS is_relic, coalesce(v.tx_type, v.data ->> 'tx_type') AS tx_type,
    coalesce(v.fee * 0.00000001, (v.data ->> 'fee')::numeric) AS fee, entries.net
  FROM journal_event v CROSS JOIN LATERAL (
    -- Kept apart by its offset: merged into the sums it would be computed anew for each of them.
    SELECT sum(e.delta) AS net FROM journal_entries(v) e OFFSET 0
  ) entries
  WHERE v.event_type = 'LedgerBalanceChanged' AND v.xid >= $1 AND v.seq > $2
)
SELECT settled, count(*) AS transactions, coalesce(max(seq) FILTER (WHERE is_relic), 0) AS relics_to_seq,
  coalesce(sum(net) FILTER (WHERE tx_type = 'issue'), 0) * $5 AS issued,
  coalesce(-sum(net) FILTER (WHERE tx_type = 'destroy'), 0) * $5 AS destroyed,
  coalesce(sum(net) FILTER (WHERE tx_type = 'transit'), 0) * $5 AS transit,
  coalesce(sum(fee), 0) * $5 AS fees_collected,
  coalesce(sum(net), 0) * $5 AS circulating,
  count(*) FILTER (WHERE net <> 0 AND tx_type NOT IN ('issue', 'destroy', 'transit')) AS unbalanced
FROM moved GROUP BY settled
"""

_MOVES = """
SELECT account, bucket, coalesce(sum(delta) FILTER (WHERE settled), 0) * $5 AS settled,
  coalesce(sum(delta) FILTER (WHERE NOT settled), 0) * $5 AS pending
FROM (
  SELECT v.xid < $3 OR v.xid >= $4 AS settled, e.account, e.bucket, e.delta
  FROM journal_event v CROSS JOIN LATERAL journal_entries(v) e
  WHERE v.event_type = 'LedgerBalanceChanged' AND v.xid >= $1 AND v.seq > $2
) moved GROUP BY account, bucket
"""

_TYPED = """
SELECT coalesce(sum((data ->> 'amount')::numeric) FILTER (WHERE event_type = 'TokensIssued'), 0) * $1 AS issued,
  coalesce(sum((data ->> 'amount')::numeric) FILTER (WHERE event_type = 'TokensDestroyed'), 0) * $1 AS destroyed
FROM journal_event WHERE event_type IN ('TokensIssued', 'TokensDestroyed')
"""

_MOVED = "journal_moved_since_the_beginning"

RECORDED_TRANSACTIONS = """
SELECT coalesce(tx_id, (data ->> 'tx_id')::bigint) AS tx_id FROM journal_event
WHERE event_type = 'LedgerBalanceChanged' AND xid >= $1 AND ($1 = 0 OR seq > $2)
"""
"""A relation to join: which ledger transactions have an event, from position $1 on, relics up to $2 left out."""


@dataclass(frozen=True)
class Move:
    """What ledger events added to one bucket of an account, in minor units: settled ones, and the others."""

    account: str
    bucket: str
    settled: Decimal
    pending: Decimal


async def read_horizon(tx: Tx) -> asyncpg.Record:
    """What this snapshot sees of the order of transactions."""
    row = await tx.fetchrow(_HORIZON)
    assert row is not None
    return row


async def fold_supply(tx: Tx, bounds: tuple[int, int, int, int]) -> list[asyncpg.Record]:
    """Totals of the settled events and of the others; `bounds` are $1 to $4."""
    return await tx.fetch(_SUPPLY, *bounds, UNIT, timeout=FOLD_SECONDS)


async def sum_typed_supply(tx: Tx) -> asyncpg.Record:
    """What the events of issuing and of destroying add up to, from the first one on."""
    row = await tx.fetchrow(_TYPED, UNIT, timeout=FOLD_SECONDS)
    assert row is not None
    return row


async def fold_moves(tx: Tx, bounds: tuple[int, int, int, int]) -> AsyncIterator[list[Move]]:
    """What each bucket gained or lost, some at a time; `bounds` are $1 to $4."""
    query, values = _MOVES, [*bounds, UNIT]
    if bounds[0] == 0:
        # What is read a piece at a time is computed by one process alone, a table by several.
        await tx.execute(
            f"CREATE TEMP TABLE {_MOVED} ON COMMIT DROP AS {_MOVES}", *values, timeout=FOLD_SECONDS
        )
        query, values = f"SELECT * FROM {_MOVED}", []  # noqa: S608
    # A million buckets at once would be a gigabyte here, and seconds in which nothing else is answered.
    moves: list[Move] = []
    async for row in tx.cursor(query, *values, prefetch=MOVES_AT_ONCE, timeout=FOLD_SECONDS):
        moves.append(Move(**row))
        if len(moves) == MOVES_AT_ONCE:
            yield moves
            moves = []
    if moves:
        yield moves
