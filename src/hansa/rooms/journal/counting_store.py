"""The SQL of the counters. Adding to them locks the row of `journal_counted`."""

from datetime import datetime

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.positions import OLDEST_OPEN

from .expansion import SPAN, counts_by_type

_NEWER = counts_by_type("e.xid >= (SELECT before_xid FROM journal_counted)")
_COUNTS = f"""
SELECT event_type, sum(events)::bigint AS events FROM (
  SELECT event_type, events FROM journal_count UNION ALL ({_NEWER})
) counted GROUP BY event_type ORDER BY event_type
"""  # noqa: S608

# The last transaction of a portion is counted whole, however large it is.
_HORIZON = f"""
SELECT greatest($1::bigint, least({OLDEST_OPEN}, greatest($1::bigint + 1, coalesce(
  (SELECT xid FROM journal_event WHERE xid >= $1::bigint ORDER BY xid, seq LIMIT 1 OFFSET $2), {OLDEST_OPEN}
))))
"""  # noqa: S608


def settled_since(places: str) -> str:
    """The statement whether events have become settled since the place in the only row of a relation."""
    return f"SELECT EXISTS (SELECT FROM journal_event WHERE xid >= (SELECT before_xid FROM {places}) AND xid < {OLDEST_OPEN})"  # noqa: S608


HAS_UNCOUNTED = Question(settled_since("journal_counted"))
"""Whether events have become settled since they were last added to the counters."""

HAS_VOLUME = Question(settled_since("journal_volume_counted"))
"""Whether events have become settled since they were last added to the volume."""

_COUNT_BETWEEN = f"""
WITH moved AS (UPDATE journal_counted SET before_xid = $2)
INSERT INTO journal_count AS c (event_type, events)
{counts_by_type("e.xid >= $1 AND e.xid < $2")}
ON CONFLICT (event_type) DO UPDATE SET events = c.events + excluded.events
"""  # noqa: S608


async def counts(tx: Tx) -> dict[str, int]:
    """How many events there are of each type."""
    return {row["event_type"]: row["events"] for row in await tx.fetch(_COUNTS)}


async def edge(tx: Tx, *, newest: bool) -> tuple[int, datetime] | None:
    """Sequence number and time of the newest or oldest event."""
    last, order = (f"e.seq + {SPAN} - 1", "DESC") if newest else ("e.seq", "ASC")
    row = await tx.fetchrow(
        f"SELECT {last} AS seq, e.recorded_at FROM journal_event e ORDER BY e.seq {order} LIMIT 1"  # noqa: S608
    )
    return (row["seq"], row["recorded_at"]) if row else None


async def lock_counted(tx: Tx) -> int:
    """The transaction before which everything is counted."""
    before_xid: int = await tx.fetchval("SELECT before_xid FROM journal_counted FOR UPDATE")
    return before_xid


async def horizon(tx: Tx, counted: int, at_most: int) -> int:
    """Return the transaction to count up to next: settled events, about `at_most` of them."""
    xid: int = await tx.fetchval(_HORIZON, counted, at_most)
    return xid


async def count_between(tx: Tx, counted: int, horizon_xid: int) -> None:
    """Add the events of these transactions to the counters."""
    await tx.execute(_COUNT_BETWEEN, counted, horizon_xid)
