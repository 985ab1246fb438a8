"""Fold from the first event on: each form of the log is added up once, for all the sums requested.

The sums have their own tables, which end with the transaction: a reading a piece at a time is computed by one process alone,
and a table by several. The results are those of `fold_store`, whatever the events are.
"""

from collections.abc import AsyncIterator

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import UNIT

from .fold_store import (
    CARRIED_MOVES,
    CARRIED_TERMS,
    CARRIED_TRANSACTIONS,
    FOLD_SECONDS,
    IS_LEDGER_EVENT,
    IS_SETTLED,
    MOVES,
    PAID,
    PAID_MOVES,
    PAID_TERMS,
    TERMS,
    Bounds,
    Move,
    moves_of,
)

# Three comparisons less for each row: one that stands for a transfer is a ledger event by a CHECK. $1 to $5 are those of `fold_store`.
_FROM_ZERO = "$1::bigint = 0 AND $2::bigint = 0"

_PAID = PAID.format(
    since=_FROM_ZERO,
    more=""",
  count(*) FILTER (WHERE v.tx_id > 0) AS numbered, sum(hashint8extended(v.tx_id, $5)) FILTER (WHERE v.tx_id > 0) AS hashed""",
)

# By bucket. What belongs to an event as a whole is counted with its first entry, and with no bucket where it has none; sums over
# all entries are those over all events. $6 is the seed.
_IN_JSON = f"""
SELECT settled, account, bucket, count(place) AS entries, sum(delta) * $5 AS delta,
  count(*) FILTER (WHERE is_first) AS transactions, max(seq) FILTER (WHERE is_relic) AS relics_to_seq,
  sum(delta) FILTER (WHERE tx_type = 'issue') * $5 AS issued,
  -sum(delta) FILTER (WHERE tx_type = 'destroy') * $5 AS destroyed,
  -coalesce(sum(delta) FILTER (WHERE bucket = 'transit'), 0) * $5 AS transit,
  sum(fee) FILTER (WHERE is_first) * $5 AS fees_collected,
  coalesce(sum(delta) FILTER (WHERE bucket IS DISTINCT FROM 'transit'), 0) * $5 AS circulating,
  count(*) FILTER (WHERE is_first AND tx_type NOT IN ('issue', 'destroy') AND journal_net(entries) <> 0) AS unbalanced,
  count(*) FILTER (WHERE is_first AND tx_id > 0) AS numbered,
  sum(hashint8extended(tx_id, $6)) FILTER (WHERE is_first AND tx_id > 0) AS hashed
FROM (
  SELECT v.seq, {IS_SETTLED} AS settled, v.xid >= $4 AS is_relic, v.data ->> 'tx_type' AS tx_type,
    (v.data ->> 'fee')::numeric AS fee, v.data -> 'entries' AS entries, coalesce(v.tx_id, (v.data ->> 'tx_id')::bigint) AS tx_id,
    e.entry ->> 'account' AS account, e.entry ->> 'bucket' AS bucket, (e.entry ->> 'delta')::numeric AS delta, e.place,
    coalesce(e.place, 1) = 1 AS is_first
  FROM journal_event v LEFT JOIN LATERAL jsonb_array_elements(v.data -> 'entries') WITH ORDINALITY AS e (entry, place) ON true
  WHERE {IS_LEDGER_EVENT} AND {_FROM_ZERO} AND v.data IS NOT NULL
) in_json GROUP BY settled, account, bucket
"""  # noqa: S608

_PAID_TABLE, _JSON_TABLE = "journal_paid_since_the_beginning", "journal_json_since_the_beginning"
_MOVED_TABLE = "journal_moved_since_the_beginning"
_KEPT = f"paid AS (SELECT * FROM {_PAID_TABLE}), in_json AS (SELECT * FROM {_JSON_TABLE})"  # noqa: S608

_SUPPLY = f"""
WITH {_KEPT}, folded AS (
  SELECT settled, transactions, relics_to_seq, issued, destroyed, transit, fees_collected, circulating, unbalanced FROM in_json
  UNION ALL {PAID_TERMS}
  UNION ALL {CARRIED_TERMS}
)
{TERMS}
"""  # noqa: S608

_MOVES = f"""
WITH {_KEPT}, moved AS (
  SELECT settled, account, bucket, delta FROM in_json WHERE entries > 0 UNION ALL {PAID_MOVES.format(since=_FROM_ZERO)}
  UNION ALL {CARRIED_MOVES}
)
{MOVES}
"""  # noqa: S608

_NUMBERS = f"""
WITH {_KEPT}
SELECT coalesce(sum(numbered), 0)::bigint AS count, sum(hashed) AS total
FROM (
  SELECT numbered, hashed FROM paid UNION ALL SELECT numbered, hashed FROM in_json
  UNION ALL SELECT count(*), sum(hashint8extended(tx_id, $1)) FROM ({CARRIED_TRANSACTIONS}) carried
) numbers
"""  # noqa: S608


class Numbers(msgspec.Struct, frozen=True):
    """How many numbers of ledger transactions the log has, and the sum of their hashes under `seed` (None without any)."""

    seed: int
    count: int
    total: int | None


async def add_up(tx: Tx, bounds: Bounds, seed: int) -> None:
    """Add up both forms from the first event on, for the readings below in this transaction, which may write."""
    for table, query, values in (
        (_PAID_TABLE, _PAID, (*bounds, seed)),
        (_JSON_TABLE, _IN_JSON, (*bounds, UNIT, seed)),
    ):
        await _keep(tx, table, query, *values)


async def read_supply(tx: Tx) -> list[asyncpg.Record]:
    """Return the rows of `fold_store.fold_supply`."""
    return await tx.fetch(_SUPPLY, timeout=FOLD_SECONDS)


async def read_moves(tx: Tx, bounds: Bounds) -> AsyncIterator[list[Move]]:
    """Yield the moves of `fold_store.fold_moves`."""
    await _keep(tx, _MOVED_TABLE, _MOVES, *bounds)
    async for moves in moves_of(tx, f"SELECT * FROM {_MOVED_TABLE}"):  # noqa: S608
        yield moves


async def read_numbers(tx: Tx, seed: int) -> Numbers:
    """The numbers of the ledger transactions that have an event."""
    row = await tx.fetchrow(_NUMBERS, seed, timeout=FOLD_SECONDS)
    assert row is not None
    return Numbers(seed, row["count"], None if row["total"] is None else int(row["total"]))


async def _keep(tx: Tx, table: str, query: str, *values: int) -> None:
    await tx.execute(f"CREATE TEMP TABLE {table} ON COMMIT DROP AS {query}", *values, timeout=FOLD_SECONDS)
