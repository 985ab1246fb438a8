"""Every SQL statement of logs. The row of a log is locked before its entries are written, deleted or counted."""

import json
from collections.abc import Sequence
from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx

from .records import Entry, EntryFilter, NewEntry, Source
from .rules import BYTES_KEPT, ENTRIES_KEPT, ENTRIES_PER_MINUTE

DAYS_AHEAD = 2
LOGS_AT_ONCE = 20

# Positions and times rise in the order of commits: the row stays locked until then.
_WRITE = """
WITH counted AS (
  INSERT INTO operations_log AS l (agent_did, position, entries, bytes, minute, in_minute, written_at)
  SELECT $1, $2, $2, $3, date_trunc('minute', t.moment), $4, t.moment FROM (SELECT clock_timestamp() AS moment) t
  ON CONFLICT (agent_did) DO UPDATE SET position = l.position + $2, entries = l.entries + $2, bytes = l.bytes + $3,
    in_minute = CASE WHEN l.minute >= excluded.minute THEN l.in_minute ELSE 0 END + $4,
    minute = greatest(l.minute, excluded.minute), written_at = greatest(l.written_at, excluded.written_at)
  WHERE CASE WHEN l.minute >= excluded.minute THEN l.in_minute ELSE 0 END + $4 <= $5
  RETURNING position, written_at
), written AS (
  INSERT INTO operations_log_entry
    (agent_did, position, level, message, log_metadata, trace_id, bytes, source, written_at)
  SELECT $1, c.position - $2 + e.place, e.level, e.message, e.log_metadata, e.trace_id, e.bytes, $6, c.written_at
  FROM counted c, unnest($7::text[], $8::text[], $9::json[], $10::text[], $11::int[])
    WITH ORDINALITY e (level, message, log_metadata, trace_id, bytes, place)
)
SELECT written_at FROM counted
"""

_SECONDS_LEFT = "SELECT ceil(60 - extract(second FROM clock_timestamp()))::int"

_PAGE = """
SELECT position, id, level, message, log_metadata, trace_id, source, written_at FROM operations_log_entry
WHERE agent_did = $1 AND ($2::bigint IS NULL OR position < $2) AND ($3::text IS NULL OR level = $3)
  AND ($4::text IS NULL OR source = $4) AND ($5::text IS NULL OR trace_id = $5)
  AND ($6::text IS NULL OR position(lower($6) IN lower(message)) > 0) AND ($7::timestamptz IS NULL OR written_at >= $7)
ORDER BY operations_log_entry.position DESC LIMIT $8
"""

_LOCK = "SELECT FROM operations_log WHERE agent_did = $1 FOR UPDATE"

_DELETE = """
WITH gone AS (DELETE FROM operations_log_entry WHERE agent_did = $1 RETURNING bytes),
  counted AS (SELECT count(*) AS entries, coalesce(sum(bytes), 0) AS bytes FROM gone)
UPDATE operations_log l SET entries = l.entries - counted.entries, bytes = l.bytes - counted.bytes
FROM counted WHERE l.agent_did = $1 RETURNING counted.entries
"""

_TOO_LARGE = f"entries > {ENTRIES_KEPT} OR bytes > {BYTES_KEPT}"
_ANY_TOO_LARGE = f"SELECT EXISTS (SELECT FROM operations_log WHERE {_TOO_LARGE})"  # noqa: S608
_LOCK_TOO_LARGE = f"""
SELECT agent_did FROM operations_log WHERE {_TOO_LARGE} ORDER BY agent_did LIMIT $1 FOR UPDATE SKIP LOCKED
"""  # noqa: S608

_CUT = f"""
WITH placed AS (
  SELECT position, row_number() OVER newer AS place, sum(bytes) OVER newer AS size FROM operations_log_entry
  WHERE agent_did = $1 WINDOW newer AS (ORDER BY position DESC)
), gone AS (
  DELETE FROM operations_log_entry e USING placed
  WHERE e.agent_did = $1 AND e.position = placed.position AND (placed.place > {ENTRIES_KEPT} OR placed.size > {BYTES_KEPT})
  RETURNING e.bytes
), counted AS (SELECT count(*) AS entries, coalesce(sum(bytes), 0) AS bytes FROM gone)
UPDATE operations_log l SET entries = l.entries - counted.entries, bytes = l.bytes - counted.bytes
FROM counted WHERE l.agent_did = $1
"""  # noqa: S608


async def write(tx: Tx, did: str, entries: Sequence[NewEntry], source: Source) -> datetime | None:
    """Lock the log, count the entries and write them in their order; returns their time, None where an agent sends more than a minute takes."""
    sizes = [entry.size_bytes for entry in entries]
    written_at: datetime | None = await tx.fetchval(
        _WRITE,
        did,
        len(entries),
        sum(sizes),
        len(entries) if source == "agent" else 0,
        ENTRIES_PER_MINUTE,
        source,
        [entry.level for entry in entries],
        [entry.message for entry in entries],
        [entry.metadata for entry in entries],
        [entry.trace_id for entry in entries],
        sizes,
    )
    return written_at


async def seconds_of_minute_left(tx: Tx) -> int:
    """Seconds until the next minute begins."""
    seconds: int = await tx.fetchval(_SECONDS_LEFT)
    return seconds


async def page(tx: Tx, did: str, wanted: EntryFilter) -> list[Entry]:
    """The newest entries of the filter, newest first."""
    rows = await tx.fetch(
        _PAGE,
        did,
        wanted.before,
        wanted.level,
        wanted.source,
        wanted.trace_id,
        wanted.text,
        wanted.since,
        wanted.limit,
    )
    return [
        Entry(
            row["position"],
            row["id"],
            row["level"],
            row["message"],
            None if row["log_metadata"] is None else json.loads(row["log_metadata"]),
            row["trace_id"],
            row["source"],
            row["written_at"],
        )
        for row in rows
    ]


async def delete(tx: Tx, did: str) -> int:
    """Delete every entry of a log; returns their number."""
    await tx.execute(_LOCK, did)
    return await tx.fetchval(_DELETE, did) or 0


async def is_any_too_large(tx: Tx) -> bool:
    """A log has more entries or bytes than are stored."""
    found: bool = await tx.fetchval(_ANY_TOO_LARGE)
    return found


async def cut_too_large(tx: Tx) -> None:
    """Delete the oldest entries of some logs that are too large; one that is being written waits for the next run."""
    for row in await tx.fetch(_LOCK_TOO_LARGE, LOGS_AT_ONCE):
        await tx.execute(_CUT, row["agent_did"])


async def keep_days(tx: Tx, days: int) -> None:
    """Make the partitions of today and the next days, and delete entries older than `days` whole days (UTC)."""
    for ahead in range(DAYS_AHEAD + 1):
        await tx.execute("SELECT operations_add_log_day((now() AT TIME ZONE 'UTC')::date + $1::int)", ahead)
    await tx.execute("SELECT operations_forget_log_days((now() AT TIME ZONE 'UTC')::date - $1::int)", days)
