"""Every SQL statement on archives of months.

What folds and comparisons need of a dropped month stays: the sums of its ledger events, the movements of each bucket, the numbers
of its transactions, and the place of the last event filed under each DID.
"""

from collections.abc import AsyncIterator
from datetime import date, datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import UNIT
from hansa.rooms.journal.reading_store import RARE
from hansa_verify import COLUMNS

from .records import ArchivedMonth, Month

ROWS_AT_ONCE = 20_000
DETACH_LOCK_TIMEOUT = "500ms"

_SPELLED = {
    "data": "data::text",
    "metadata": "metadata::text",
    "recorded_at_us": "(extract(epoch FROM recorded_at) * 1000000)::bigint",
}

_ROWS = f"""
SELECT json_build_array({", ".join(_SPELLED.get(name, name) for name in COLUMNS)})::text AS row
FROM journal_event WHERE recorded_at >= $1 AND recorded_at < $2 ORDER BY seq
"""  # noqa: S608

_TERMS = "SELECT id, frame, currency, collector FROM journal_transfer_terms ORDER BY id"

# The sessions of other roles do not state when their transactions began; no other role writes the journal.
_OPEN_SINCE = """
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start < $1)
"""

_STATE = f"""
SELECT clock_timestamp() AS now, to_regclass($1) IS NOT NULL AS has_partition,
  EXISTS (SELECT FROM journal_archive WHERE month = $2 AND dropped_at IS NOT NULL) AS is_dropped,
  ({_OPEN_SINCE.strip().replace("$1", "$3")}) AS may_grow
"""  # noqa: S608

_MEMBERS = ", ".join(ArchivedMonth.__struct_fields__)

_RECORD = """
INSERT INTO journal_archive AS a (month, rows, events, first_sequence, last_sequence, last_xid, last_seq, manifest_sha256, kid)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (month) DO UPDATE SET rows = excluded.rows, events = excluded.events, first_sequence = excluded.first_sequence,
  last_sequence = excluded.last_sequence, last_xid = excluded.last_xid, last_seq = excluded.last_seq,
  manifest_sha256 = excluded.manifest_sha256, kid = excluded.kid, archived_at = now()
WHERE a.dropped_at IS NULL RETURNING true
"""

_FIND = f"SELECT {_MEMBERS} FROM journal_archive WHERE month = $1"  # noqa: S608

_LIST = f"SELECT {_MEMBERS} FROM journal_archive ORDER BY month"  # noqa: S608

_EARLIER = """
SELECT to_char(date_trunc('month', min(recorded_at), 'UTC'), 'YYYY-MM') AS month FROM journal_event WHERE recorded_at < $1
"""

_UNCOUNTED = """
SELECT least((SELECT before_xid FROM journal_counted), (SELECT before_xid FROM journal_volume_counted)) <= $1
"""

# The entries of each event, as the projections add them up; amounts of the journal are units, those carried are minor units.
_MARK_DROPPED = """
UPDATE journal_archive SET dropped_at = now(), (transactions, issued, destroyed, transit, fees_collected, circulating, unbalanced,
    tx_ids) = (
  SELECT count(*), coalesce(sum(net) FILTER (WHERE tx_type = 'issue'), 0) * $4,
    -coalesce(sum(net) FILTER (WHERE tx_type = 'destroy'), 0) * $4, -coalesce(sum(crossed), 0) * $4,
    coalesce(sum(fee), 0) * $4, coalesce(sum(net - crossed), 0) * $4,
    count(*) FILTER (WHERE net <> 0 AND tx_type NOT IN ('issue', 'destroy')),
    coalesce(range_agg(int8range(tx_id, tx_id, '[]')) FILTER (WHERE tx_id > 0), '{}')
  FROM (
    SELECT coalesce(e.tx_type, e.data ->> 'tx_type') AS tx_type, coalesce(e.tx_id, (e.data ->> 'tx_id')::bigint) AS tx_id,
      coalesce(e.fee * 0.00000001, (e.data ->> 'fee')::numeric, 0) AS fee, moved.net, moved.crossed
    FROM journal_event e CROSS JOIN LATERAL (
      SELECT coalesce(sum(m.delta), 0) AS net, coalesce(sum(m.delta) FILTER (WHERE m.bucket = 'transit'), 0) AS crossed
      FROM journal_entries(e) m OFFSET 0
    ) moved
    WHERE e.recorded_at >= $2 AND e.recorded_at < $3 AND e.event_type = 'LedgerBalanceChanged'
  ) movements
), (typed_issued, typed_destroyed) = (
  SELECT coalesce(sum(amount) FILTER (WHERE event_type IN ('TokensIssued', 'DisputeCompensationMinted')), 0) * $4,
    coalesce(sum(amount) FILTER (WHERE event_type IN ('TokensDestroyed', 'DisputeSlash')), 0) * $4
  FROM (
    SELECT event_type, (data ->> 'amount')::numeric AS amount FROM journal_event
    WHERE recorded_at >= $2 AND recorded_at < $3
      AND event_type IN ('TokensIssued', 'DisputeCompensationMinted', 'TokensDestroyed', 'DisputeSlash')
  ) typed
)
WHERE month = $1 AND dropped_at IS NULL AND manifest_sha256 = $5 RETURNING true
"""

_CARRY_MOVES = """
INSERT INTO journal_carried AS c (account, bucket, balance)
SELECT m.account, m.bucket, sum(m.delta) * $3 FROM journal_event e CROSS JOIN LATERAL journal_entries(e) m
WHERE e.recorded_at >= $1 AND e.recorded_at < $2 AND e.event_type = 'LedgerBalanceChanged' GROUP BY m.account, m.bucket
ON CONFLICT (account, bucket) DO UPDATE SET balance = c.balance + excluded.balance
"""

_CARRY_PLACES = f"""
INSERT INTO journal_carried_place AS c (did, xid, seq)
SELECT DISTINCT ON (aggregate_id) aggregate_id, xid, seq FROM journal_event
WHERE recorded_at >= $1 AND recorded_at < $2 AND {RARE} AND source_service <> 'ledger' ORDER BY aggregate_id, xid DESC, seq DESC
ON CONFLICT (did) DO UPDATE SET xid = excluded.xid, seq = excluded.seq WHERE (excluded.xid, excluded.seq) > (c.xid, c.seq)
"""  # noqa: S608


class MonthState(msgspec.Struct, frozen=True):
    """State of a month before it is archived; `may_grow` while a transaction is open that began in it."""

    now: datetime
    has_partition: bool
    is_dropped: bool
    may_grow: bool


async def state_of(tx: Tx, month: Month) -> MonthState:
    row = await tx.fetchrow(_STATE, month.partition, month.first, month.bounds[1])
    assert row is not None
    return MonthState(**row)


async def rows_of(tx: Tx, month: Month) -> AsyncIterator[list[str]]:
    """Yield the rows of a month in the order of their numbers, each as the text of a leaf, some at a time."""
    rows: list[str] = []
    async for record in tx.cursor(_ROWS, *month.bounds, prefetch=ROWS_AT_ONCE):
        rows.append(record["row"])
        if len(rows) == ROWS_AT_ONCE:
            yield rows
            rows = []
    if rows:
        yield rows


async def terms(tx: Tx) -> list[dict[str, object]]:
    """Every set of terms that rows refer to."""
    return [dict(row) for row in await tx.fetch(_TERMS)]


async def record(tx: Tx, archived: ArchivedMonth) -> bool:
    """Record the archive of a month, in place of an earlier one; False where the month was dropped."""
    members = ArchivedMonth.__struct_fields__[:9]
    is_recorded = await tx.fetchval(_RECORD, *(getattr(archived, name) for name in members))
    return is_recorded is not None


async def find(tx: Tx, month: date) -> ArchivedMonth | None:
    row = await tx.fetchrow(_FIND, month)
    return ArchivedMonth(**row) if row else None


async def archived_months(tx: Tx) -> list[ArchivedMonth]:
    """Every archive, the oldest month first."""
    return [ArchivedMonth(**row) for row in await tx.fetch(_LIST)]


async def earliest_month_before(tx: Tx, month: Month) -> str | None:
    """The month of the oldest event that is stored, where that is before the month."""
    found: str | None = await tx.fetchval(_EARLIER, month.bounds[0])
    return found


async def is_uncounted(tx: Tx, xid: int) -> bool:
    """Return whether events up to this position are not in the counters or the volume yet."""
    is_before: bool = await tx.fetchval(_UNCOUNTED, xid)
    return is_before


async def hold_off_appends(tx: Tx, month: Month) -> None:
    """Let nothing be appended to the partition of a month before the transaction ends; waits for those who are at it."""
    await tx.execute(f"LOCK TABLE {month.partition} IN SHARE MODE")


async def carry(tx: Tx, archived: ArchivedMonth, month: Month) -> bool:
    """Mark the month as dropped and keep what stays of it; False unless it has this archive and is stored here."""
    begin, past = month.bounds
    if not await tx.fetchval(_MARK_DROPPED, month.first, begin, past, UNIT, archived.manifest_sha256):
        return False
    await tx.execute(_CARRY_MOVES, begin, past, UNIT)
    await tx.execute(_CARRY_PLACES, begin, past)
    return True


async def drop_partition(tx: Tx, month: Month) -> None:
    """Delete the partition. Raises: asyncpg.LockNotAvailableError after half a second, in which all who append or read wait."""
    async with tx.transaction():
        await tx.execute(f"SET LOCAL lock_timeout = '{DETACH_LOCK_TIMEOUT}'")
        await tx.execute(f"ALTER TABLE journal_event DETACH PARTITION {month.partition}")
        await tx.execute(f"DROP TABLE {month.partition}")
