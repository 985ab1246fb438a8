"""The SQL that reads the log. Reads take no locks; every one goes by an index, on each partition."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.positions import OLDEST_OPEN

from .expansion import SPAN_MAX, array_of, events_of, rows_after, rows_of_type, rows_with_others
from .store import COLUMNS, stored

# The words of the partial indexes: the types that a transfer writes are in none of them.
RARE = "event_type NOT IN ('LedgerBalanceChanged', 'TokensTransferred', 'TransactionFeeCollected')"
FREQUENT = frozenset({"LedgerBalanceChanged", "TokensTransferred", "TransactionFeeCollected"})

_ROWS_AFTER = f"""
SELECT e FROM journal_event e
WHERE {rows_after("$1", "$2")} AND e.xid < (SELECT {OLDEST_OPEN}) {{rows}}
ORDER BY e.xid, e.seq LIMIT $3::bigint + $4::bigint + 1
"""  # noqa: S608

_AFTER = f"""
SELECT {COLUMNS} FROM {events_of(_ROWS_AFTER)} WHERE (xid, seq) > ($1, $2) {{events}}
ORDER BY xid, seq LIMIT $3 OFFSET $4
"""  # noqa: S608

_ROWS_BEFORE = """
SELECT e FROM journal_event e WHERE (e.xid, e.seq) < ($1, $2) {rows}
ORDER BY e.xid DESC, e.seq DESC LIMIT $3::bigint + $4::bigint + 1
"""

_BEFORE = f"""
SELECT {COLUMNS} FROM {events_of(_ROWS_BEFORE)} WHERE (xid, seq) < ($1, $2) {{events}}
ORDER BY xid DESC, seq DESC LIMIT $3 OFFSET $4
"""  # noqa: S608

# Each type is read by the index of types, no further than the page needs; an event of a rare type is a row of its own.
_NEWEST_OF_TYPES = f"""
SELECT n.e FROM unnest($1::text[]) AS t (kind) CROSS JOIN LATERAL (
  SELECT e FROM journal_event e WHERE e.event_type = t.kind AND e.{RARE}
  ORDER BY e.xid DESC, e.seq DESC LIMIT $2::bigint + $3::bigint
) n
ORDER BY (n.e).xid DESC, (n.e).seq DESC LIMIT $2 OFFSET $3
"""  # noqa: S608

_EVENTS_OF_TYPES = f"SELECT {COLUMNS} FROM {events_of(_NEWEST_OF_TYPES)} ORDER BY xid DESC, seq DESC"  # noqa: S608

# A place that is hidden from the planner.
_BEFORE_PLACE = "((SELECT $1::bigint), (SELECT $2::bigint))"

_ROWS_AT = f"SELECT e FROM journal_event e WHERE e.seq BETWEEN $1::bigint - {SPAN_MAX - 1} AND $1"  # noqa: S608

_AT = f"SELECT {COLUMNS} FROM {events_of(_ROWS_AT)} WHERE seq = $1"  # noqa: S608

# The last eight digits of an id have so much of the number (`journal_event_id` in `sql/appending.sql`).
NUMBER_IN_ID, DIGITS_OF_ID_FROM = 2**28, 0x10000000

_ROWS_OF_ID = f"""
SELECT near.e FROM generate_series($2::bigint, (SELECT max(seq) + {SPAN_MAX - 1} FROM journal_event), {NUMBER_IN_ID}) AS n (seq)
CROSS JOIN LATERAL (SELECT e FROM journal_event e WHERE e.seq BETWEEN n.seq - {SPAN_MAX - 1} AND n.seq OFFSET 0) near
"""  # noqa: S608

_OF_ID = f"SELECT {COLUMNS} FROM {events_of(_ROWS_OF_ID)} WHERE id = $1"  # noqa: S608

Place = tuple[int, int]


async def events_after(
    tx: Tx, place: Place, *, event_type: str | None, limit: int, offset: int
) -> list[StoredEvent]:
    """The next events in order, up to the oldest open transaction."""
    return await _page(tx, _AFTER, place, event_type=event_type, limit=limit, offset=offset)


async def events_before(
    tx: Tx, place: Place, *, event_type: str | None, limit: int, offset: int
) -> list[StoredEvent]:
    """The events before a place, the nearest first."""
    return await _page(tx, _BEFORE, place, event_type=event_type, limit=limit, offset=offset)


async def newest_of_types(tx: Tx, types: Sequence[str], *, limit: int, offset: int) -> list[StoredEvent]:
    """The newest events of these rare types together, newest first."""
    return stored(await tx.fetch(_EVENTS_OF_TYPES, types, limit, offset))


async def event_at(tx: Tx, sequence: int) -> StoredEvent | None:
    """The event with this sequence number."""
    found = stored(await tx.fetch(_AT, sequence))
    return found[0] if found else None


async def event_of_id(tx: Tx, event_id: UUID) -> StoredEvent | None:
    """The event with this id; one that was recorded before ids held the number is not found."""
    lowest = (int(event_id.hex[-8:], 16) - DIGITS_OF_ID_FROM) % NUMBER_IN_ID
    found = stored(await tx.fetch(_OF_ID, event_id, lowest))
    return found[0] if found else None


async def public_events_before(
    tx: Tx, place: Place, private_types: Sequence[str], *, limit: int
) -> list[StoredEvent]:
    """The events of other types than these before a place, the nearest first."""
    statement = _BEFORE.format(rows="AND e.event_type <> ALL($5)", events="AND event_type <> ALL($5)")
    return stored(await tx.fetch(statement, *place, limit, 0, private_types))


async def search_public_events(
    tx: Tx, place: Place, private_types: Sequence[str], left_out: Sequence[str], *, rows: int, limit: int
) -> list[StoredEvent]:
    """Return events of other types in so many rows before a place, the nearest first.

    Types and numbers, of which the code has a few, are text of the statement, and the place is hidden: with parameters that the planner
    uses it would plan anew for every page.
    """
    # A type that is left out may stand within a row, a private one does not. Of a row in which a cursor stands, none may be left.
    found = f"""
SELECT e FROM ({_public_rows(private_types)} LIMIT {rows}) s WHERE {rows_with_others("(s.e)", left_out)} LIMIT {limit + 1}"""  # noqa: S608
    statement = f"""
SELECT {COLUMNS} FROM {events_of(found)}
WHERE (xid, seq) < {_BEFORE_PLACE} AND event_type <> ALL({array_of([*private_types, *left_out])})
ORDER BY xid DESC, seq DESC LIMIT {limit}"""  # noqa: S608
    return stored(await tx.fetch(statement, *place))


async def end_of_search(tx: Tx, place: Place, private_types: Sequence[str], rows: int) -> Place | None:
    """The place where that search goes on; None where the log has no more rows."""
    row = await tx.fetchrow(
        f"SELECT (e).xid, (e).seq FROM ({_public_rows(private_types)} OFFSET {rows - 1} LIMIT 1) last",  # noqa: S608
        *place,
    )
    return None if row is None else (row["xid"], row["seq"])


def _public_rows(private_types: Sequence[str]) -> str:
    return f"""
SELECT e FROM journal_event e WHERE (e.xid, e.seq) < {_BEFORE_PLACE} AND e.event_type <> ALL({array_of(private_types)})
ORDER BY e.xid DESC, e.seq DESC"""  # noqa: S608


async def _page(
    tx: Tx, statement: str, place: Place, *, event_type: str | None, limit: int, offset: int
) -> list[StoredEvent]:
    if event_type is None:
        return stored(await tx.fetch(statement.format(rows="", events=""), *place, limit, offset))
    rows = rows_of_type("$5::text") if event_type in FREQUENT else f"e.event_type = $5 AND e.{RARE}"
    query = statement.format(rows=f"AND {rows}", events="AND event_type = $5")
    return stored(await tx.fetch(query, *place, limit, offset, event_type))
