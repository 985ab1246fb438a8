"""Every SQL statement of the journal. Inserts and reads only: the database refuses anything else."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import asyncpg
import msgspec

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx

from .expansion import SPAN, events_of, rows_with_key


class NewEvent(msgspec.Struct, frozen=True):
    """An event about to be written; `data` is JSON text."""

    event_type: str
    aggregate_id: str
    aggregate_type: str
    data: str
    source_service: str
    idempotency_key: str | None


COLUMNS = """
seq AS sequence, id, event_type, aggregate_id, aggregate_type, data, metadata, recorded_at AS timestamp,
version, source_service, idempotency_key, xid
"""

_NEWEST = events_of(
    "SELECT e FROM journal_event e WHERE e.event_type <> ALL($2) ORDER BY e.seq DESC LIMIT $1"
)

_RECENT = f"SELECT {COLUMNS} FROM {_NEWEST} WHERE event_type <> ALL($2) ORDER BY seq DESC LIMIT $1"  # noqa: S608

_COUNT_RECENT = f"""
SELECT count(*) FROM (SELECT 1 FROM {_NEWEST} WHERE event_type <> ALL($2) ORDER BY seq DESC LIMIT $1) ring
"""  # noqa: S608

_SEQUENCE_OF = f"SELECT (f.e).seq FROM ({rows_with_key('$1::text')}) f"  # noqa: S608

NEWEST_SEQUENCE = f"coalesce((SELECT e.seq + {SPAN} - 1 FROM journal_event e ORDER BY e.seq DESC LIMIT 1), 0)"  # noqa: S608
"""An expression: the highest sequence number, 0 on an empty log."""


async def insert_events(tx: Tx, events: Sequence[NewEvent]) -> int:
    """Append the events that their policies let in, in order; returns how many those are."""
    recorded: int = await tx.fetchval(
        "SELECT journal_append($1, $2, $3, $4, $5, $6)",
        [event.event_type for event in events],
        [event.aggregate_id for event in events],
        [event.aggregate_type for event in events],
        [event.data for event in events],
        [event.source_service for event in events],
        [event.idempotency_key for event in events],
    )
    return recorded


async def undecided_types(tx: Tx, events: Sequence[NewEvent]) -> list[str]:
    """The types among the events that are kept out because no policy speaks of them."""
    kinds = sorted({(event.event_type, event.source_service) for event in events})
    undecided: list[str] = await tx.fetchval(
        "SELECT journal_undecided($1, $2)", [kind for kind, _ in kinds], [source for _, source in kinds]
    )
    return undecided


async def registry_did(tx: Tx) -> str:
    """The DID of the registry's own system account."""
    did: str = await tx.fetchval("SELECT did FROM journal_registry")
    return did


async def write_registry_did(tx: Tx, did: str) -> None:
    """Write the DID of the registry's own system account."""
    await tx.execute("UPDATE journal_registry SET did = $1 WHERE did <> $1", did)


async def recent(tx: Tx, limit: int, *, without: Sequence[str]) -> list[StoredEvent]:
    """The newest `limit` events of other types than these, newest first."""
    return stored(await tx.fetch(_RECENT, limit, without))


def stored(rows: Iterable[asyncpg.Record | Mapping[str, Any]]) -> list[StoredEvent]:
    """Rows of COLUMNS as events."""
    decode = msgspec.json.decode
    return [
        StoredEvent(**{**row, "data": decode(row["data"]), "metadata": decode(row["metadata"])})
        for row in rows
    ]


async def count_recent(tx: Tx, ring: int, *, without: Sequence[str]) -> int:
    """How many events of other types than these the ring of the newest `ring` holds."""
    count: int = await tx.fetchval(_COUNT_RECENT, ring, without)
    return count


async def add_month(tx: Tx, months_ahead: int) -> bool:
    """Make the partition of a month unless it is there; waits half a second at most for readers of the log."""
    made: bool = await tx.fetchval(
        "SELECT journal_add_month(now() + $1 * interval '1 month')", float(months_ahead)
    )
    return made


async def months(tx: Tx) -> list[str]:
    """The first days of the months that have a partition."""
    rows = await tx.fetch(
        "SELECT to_char(to_date(right(inhrelid::regclass::text, 7), 'YYYY_MM'), 'YYYY-MM-DD') AS month FROM pg_inherits"
        " WHERE inhparent = 'journal_event'::regclass AND inhrelid::regclass::text ~ '_[0-9]{4}_[0-9]{2}$' ORDER BY 1"
    )
    return [row["month"] for row in rows]


async def add_months(tx: Tx, first_days: Sequence[str]) -> None:
    """Make the partitions of these months in an empty log."""
    await tx.execute(
        "SELECT journal_add_month(day::date::timestamp AT TIME ZONE 'UTC') FROM unnest($1::text[]) AS day",
        first_days,
    )


async def newest_position(tx: Tx) -> int:
    """The highest position of an event, 0 without any. Until the transaction ends, no other one appends."""
    await tx.execute("LOCK TABLE journal_event IN SHARE ROW EXCLUSIVE MODE")
    position: int = await tx.fetchval("SELECT coalesce(max(xid), 0) FROM journal_event")
    return position


async def sequence_of(tx: Tx, key: str) -> int | None:
    """The sequence number of the event with that key."""
    seq: int | None = await tx.fetchval(_SEQUENCE_OF, key)
    return seq


async def newest_sequence(tx: Tx) -> int:
    """The highest sequence number that is committed; 0 on an empty log."""
    seq: int = await tx.fetchval(f"SELECT {NEWEST_SEQUENCE}")
    return seq
