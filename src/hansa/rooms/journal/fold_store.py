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

# What the queries below share; $1 position, $2 relics, $3 oldest open, $4 not begun, $5 minor units to the unit. A row that
# stands for the events of a transfer has integers, whose sums cost a tenth of those of the JSON form's decimal strings: the
# two forms are folded apart, each exactly.
_SINCE = "v.xid >= $1 AND v.seq > $2"
# Two comparisons less for each row of a whole history.
_FROM_ZERO = "$1::bigint = 0 AND $2::bigint = 0"
_IS_LEDGER_EVENT = "v.event_type = 'LedgerBalanceChanged'"
_IS_SETTLED = "v.xid < $3 OR v.xid >= $4"

# What rows that stand for transfers add up to, by payer. `lacking` is what left the payer and reached nobody.
_PAID = f"""
SELECT {_IS_SETTLED} AS settled, v.aggregate_id AS payer, v.tx_type = 'capture' AS is_capture, v.terms,
  count(*) AS transactions, max(v.seq) FILTER (WHERE v.xid >= $4) AS relics_to_seq,
  -sum(v.amount + coalesce(v.freed, 0) + v.fee) AS delta, sum(v.freed) FILTER (WHERE v.freed_after IS NOT NULL) AS freed,
  sum(v.fee) FILTER (WHERE v.collector_after IS NOT NULL) AS fee, sum(v.fee) AS fees_collected,
  sum(lacking) FILTER (WHERE lacking <> 0) AS lacking, count(*) FILTER (WHERE lacking <> 0) AS unbalanced
FROM (
  SELECT v.*, CASE WHEN v.freed_after IS NULL THEN coalesce(v.freed, 0) ELSE 0 END
    + CASE WHEN v.collector_after IS NULL THEN v.fee ELSE 0 END AS lacking
  FROM journal_event v WHERE {_IS_LEDGER_EVENT} AND {{since}} AND v.data IS NULL
) v GROUP BY 1, 2, 3, 4
"""  # noqa: S608

_SUPPLY = f"""
WITH paid AS ({{paid}}), folded AS (
  SELECT settled, count(*) AS transactions, max(seq) FILTER (WHERE is_relic) AS relics_to_seq,
    sum(net) FILTER (WHERE tx_type = 'issue') * $5 AS issued,
    -sum(net) FILTER (WHERE tx_type = 'destroy') * $5 AS destroyed,
    -sum(crossed) * $5 AS transit, sum(fee) * $5 AS fees_collected, sum(net - crossed) * $5 AS circulating,
    count(*) FILTER (WHERE net <> 0 AND tx_type NOT IN ('issue', 'destroy')) AS unbalanced
  FROM (
    SELECT v.seq, {_IS_SETTLED} AS settled, v.xid >= $4 AS is_relic, v.data ->> 'tx_type' AS tx_type,
      (v.data ->> 'fee')::numeric AS fee, entries.net, entries.crossed
    FROM journal_event v CROSS JOIN LATERAL (
      -- Kept apart by its offset: merged into the sums it would be computed anew for each of them.
      SELECT sum((e ->> 'delta')::numeric) AS net,
        coalesce(sum((e ->> 'delta')::numeric) FILTER (WHERE e ->> 'bucket' = 'transit'), 0) AS crossed
      FROM jsonb_array_elements(v.data -> 'entries') e OFFSET 0
    ) entries
    WHERE {_IS_LEDGER_EVENT} AND {{since}} AND v.data IS NOT NULL
  ) moved GROUP BY settled
  UNION ALL
  SELECT settled, sum(transactions), max(relics_to_seq), 0, 0, 0, sum(fees_collected), -coalesce(sum(lacking), 0), sum(unbalanced)
  FROM paid GROUP BY settled
)
SELECT settled, sum(transactions)::bigint AS transactions, coalesce(max(relics_to_seq), 0) AS relics_to_seq,
  coalesce(sum(issued), 0) AS issued, coalesce(sum(destroyed), 0) AS destroyed, coalesce(sum(transit), 0) AS transit,
  sum(fees_collected) AS fees_collected, sum(circulating) AS circulating, sum(unbalanced)::bigint AS unbalanced
FROM folded GROUP BY settled
"""  # noqa: S608


# The same entries that `journal_entries` gives for each row. Rows that stand for transfers are read by payer and by payee:
# each reading can be shared by several processes.
_MOVES = f"""
WITH paid AS ({{paid}})
SELECT account, bucket, coalesce(sum(delta) FILTER (WHERE settled), 0) AS settled,
  coalesce(sum(delta) FILTER (WHERE NOT settled), 0) AS pending
FROM (
  SELECT {
    _IS_SETTLED
} AS settled, e ->> 'account' AS account, e ->> 'bucket' AS bucket, (e ->> 'delta')::numeric * $5 AS delta
  FROM journal_event v CROSS JOIN LATERAL jsonb_array_elements(v.data -> 'entries') e
  WHERE {_IS_LEDGER_EVENT} AND {{since}} AND v.data IS NOT NULL
  UNION ALL SELECT settled, payer, CASE WHEN is_capture THEN 'escrow' ELSE 'liquid' END, delta FROM paid
  UNION ALL SELECT settled, payer, 'liquid', freed FROM paid WHERE freed IS NOT NULL
  UNION ALL SELECT settled, t.collector, 'liquid', fee FROM paid JOIN journal_transfer_terms t ON t.id = paid.terms
    WHERE fee IS NOT NULL
  UNION ALL SELECT {_IS_SETTLED}, v.payee, 'liquid', sum(v.amount) FROM journal_event v
    WHERE {_IS_LEDGER_EVENT} AND {{since}} AND v.data IS NULL GROUP BY 1, 2
) moved GROUP BY account, bucket
"""  # noqa: S608

# Who issues or destroys units records a typed event with the amount beside the ledger's own.
_ISSUING = "('TokensIssued', 'DisputeCompensationMinted')"
_DESTROYING = "('TokensDestroyed', 'DisputeSlash')"

_TYPED = f"""
SELECT coalesce(sum(amount) FILTER (WHERE event_type IN {_ISSUING}), 0) * $1 AS issued,
  coalesce(sum(amount) FILTER (WHERE event_type IN {_DESTROYING}), 0) * $1 AS destroyed
FROM (
  SELECT event_type, (data ->> 'amount')::numeric AS amount FROM journal_event
  WHERE event_type IN {_ISSUING} OR event_type IN {_DESTROYING}
) typed
"""  # noqa: S608

_PAID_FROM_ZERO, _MOVED_FROM_ZERO = "journal_paid_since_the_beginning", "journal_moved_since_the_beginning"

Bounds = tuple[int, int, int, int]
"""$1 to $4 of the queries."""

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


@dataclass(frozen=True)
class Paid:
    """What the queries read for the sums by payer: computed within each of them, or kept for all of a transaction."""

    query: str
    bounds: Bounds

    @property
    def values(self) -> tuple[int, ...]:
        """The values of the parameters."""
        return *self.bounds, UNIT

    def within(self, query: str) -> str:
        """The query that reads these sums."""
        return query.format(paid=self.query, since=_since(self.bounds))


def paid_within(bounds: Bounds) -> Paid:
    """The sums as part of each query."""
    return Paid(_PAID.format(since=_since(bounds)), bounds)


async def keep_paid_from_zero(tx: Tx, bounds: Bounds) -> Paid:
    """Compute the sums from the first event on, once for all queries of this transaction, which may write."""
    paid = paid_within(bounds)
    await tx.execute(
        f"CREATE TEMP TABLE {_PAID_FROM_ZERO} ON COMMIT DROP AS {paid.query}", *bounds, timeout=FOLD_SECONDS
    )
    return Paid(f"SELECT * FROM {_PAID_FROM_ZERO}", bounds)  # noqa: S608


def _since(bounds: Bounds) -> str:
    return _FROM_ZERO if bounds[:2] == (0, 0) else _SINCE


async def fold_supply(tx: Tx, paid: Paid) -> list[asyncpg.Record]:
    """Totals of the settled events and of the others."""
    return await tx.fetch(paid.within(_SUPPLY), *paid.values, timeout=FOLD_SECONDS)


async def sum_typed_supply(tx: Tx) -> asyncpg.Record:
    """What the events of issuing and of destroying add up to, from the first one on."""
    row = await tx.fetchrow(_TYPED, UNIT, timeout=FOLD_SECONDS)
    assert row is not None
    return row


async def fold_moves(tx: Tx, paid: Paid) -> AsyncIterator[list[Move]]:
    """What each bucket gained or lost, some at a time."""
    query, values = paid.within(_MOVES), list(paid.values)
    if paid.bounds[0] == 0:
        # What is read a piece at a time is computed by one process alone, a table by several.
        await tx.execute(
            f"CREATE TEMP TABLE {_MOVED_FROM_ZERO} ON COMMIT DROP AS {query}", *values, timeout=FOLD_SECONDS
        )
        query, values = f"SELECT * FROM {_MOVED_FROM_ZERO}", []  # noqa: S608
    # A million buckets at once would be a gigabyte here, and seconds in which nothing else is answered.
    moves: list[Move] = []
    async for row in tx.cursor(query, *values, prefetch=MOVES_AT_ONCE, timeout=FOLD_SECONDS):
        moves.append(Move(**row))
        if len(moves) == MOVES_AT_ONCE:
            yield moves
            moves = []
    if moves:
        yield moves
