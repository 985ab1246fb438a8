"""Every SQL statement of the reactors.

The row of a reactor is its place in the journal. A reaction holds the reactor's job, and the row locked.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.positions import OLDEST_OPEN
from hansa.rooms.journal.expansion import (
    SPAN,
    SPAN_MAX,
    events_of,
    own_events_of,
    rows_after,
    rows_of_type,
)
from hansa.rooms.journal.reading_store import FREQUENT, RARE, Place
from hansa.rooms.journal.store import COLUMNS, stored


class SetAside(msgspec.Struct, frozen=True):
    """An event that a reactor set aside after its last retry."""

    sequence: int
    event_type: str
    failures: int
    error: str
    set_aside_at: datetime


# Whatever is open now may still commit behind the newest event.
_SETTLE = f"""
INSERT INTO journal_reactor (name, xid, seq) SELECT name, CASE WHEN whole THEN 0 ELSE {OLDEST_OPEN} END, 0
FROM unnest($1::text[], $2::boolean[]) AS asked (name, whole)
ON CONFLICT DO NOTHING
"""  # noqa: S608

# One walk through an index for each type: rare types are not looked for among transfers.
_ROWS_OF_TYPE = f"""
SELECT {{row}} FROM journal_event e WHERE {{of_type}} AND {{after}} AND e.xid < (SELECT {OLDEST_OPEN})
ORDER BY e.xid, e.seq LIMIT $3::bigint + 1
"""  # noqa: S608

_NEXT_OF_TYPES = f"""
SELECT {{columns}} FROM unnest($2::text[]) AS asked (kind) CROSS JOIN LATERAL (
  SELECT {COLUMNS} FROM {{events}}
  WHERE event_type = asked.kind AND (xid, seq) > ({{place}}) ORDER BY xid, seq LIMIT $3
) event
"""  # noqa: S608

_ADVANCE = "UPDATE journal_reactor SET xid = $2, seq = $3 WHERE name = $1"

_SET_ASIDE = """
INSERT INTO journal_reactor_set_aside (reactor, xid, seq, event_type, failures, error) VALUES ($1, $2, $3, $4, $5, $6)
"""

_COUNT_SET_ASIDE = """
SELECT reactor, count(*) AS count FROM journal_reactor_set_aside WHERE reactor = ANY($1::text[]) GROUP BY reactor
"""

_NEWEST_SET_ASIDE = """
SELECT asked.name, newest.* FROM unnest($1::text[]) AS asked (name) CROSS JOIN LATERAL (
  SELECT seq AS sequence, event_type, failures, error, set_aside_at FROM journal_reactor_set_aside
  WHERE reactor = asked.name ORDER BY xid DESC, seq DESC LIMIT $2
) newest
"""

_OLDEST_SET_ASIDE = """
SELECT xid, seq FROM journal_reactor_set_aside WHERE reactor = $1 ORDER BY xid, seq LIMIT $2
"""

_ROWS_AT = f"""
SELECT e FROM journal_event e WHERE e.xid = taken.xid AND e.seq BETWEEN taken.seq - {SPAN_MAX - 1} AND taken.seq
"""  # noqa: S608

# Of two who take it back at once the second waits, then finds nothing.
_TAKE_BACK = f"""
WITH taken AS (
  DELETE FROM journal_reactor_set_aside WHERE (reactor, xid, seq) = ($1, $2, $3) RETURNING xid, seq
)
SELECT f.* FROM taken CROSS JOIN LATERAL (
  SELECT {COLUMNS} FROM {events_of(_ROWS_AT)} WHERE seq = taken.seq
) f
"""  # noqa: S608

_FAIL_AGAIN = """
UPDATE journal_reactor_set_aside SET failures = failures + 1, error = $4
WHERE (reactor, xid, seq) = ($1, $2, $3)
"""

SET_ASIDE_SHOWN = 20

_PARAMETER = re.compile(r"\$[0-9]")


async def settle(tx: Tx, names: Sequence[str], from_the_start: Sequence[bool]) -> None:
    """Give every reactor a place that has none."""
    await tx.execute(_SETTLE, names, from_the_start)


def is_due(name: str, types: Sequence[str]) -> Question:
    """Return the question whether there is something to react to."""
    following = _next_of(types, columns="1", place=("reactor.xid", "reactor.seq"))
    statement = f"SELECT EXISTS (SELECT 1 FROM journal_reactor reactor CROSS JOIN LATERAL ({following}) event WHERE name = $1)"  # noqa: S608
    return Question(_written(statement, name, types, 1))


async def next_events(tx: Tx, name: str, types: Sequence[str], limit: int) -> list[StoredEvent]:
    """Lock the place of a reactor; the events of these types behind it, in order, up to the oldest open transaction.

    One statement: whatever place another transaction has left, the events behind it and older than every open transaction are in
    the snapshot.
    """
    following = _next_of(types, columns="event.*", place=("reactor.xid", "reactor.seq"))
    locked = "SELECT xid, seq FROM journal_reactor WHERE name = $1 FOR UPDATE"
    return stored(
        await tx.fetch(
            f"WITH reactor AS MATERIALIZED ({locked}) SELECT event.* FROM reactor CROSS JOIN LATERAL ({following}) event"  # noqa: S608
            " ORDER BY event.xid, event.sequence LIMIT $3",
            name,
            types,
            limit,
        )
    )


async def advance(tx: Tx, name: str, event: StoredEvent) -> None:
    """Move a locked reactor behind the event."""
    await tx.execute(_ADVANCE, name, event.xid, event.sequence)


async def pass_over(tx: Tx, name: str) -> None:
    """Move the reactor behind every event there is, without a reaction to any."""
    await tx.execute(
        f"UPDATE journal_reactor SET (xid, seq) = (SELECT e.xid, e.seq + {SPAN} - 1 FROM journal_event e"  # noqa: S608
        " ORDER BY e.xid DESC, e.seq DESC LIMIT 1)"
        " WHERE name = $1 AND EXISTS (SELECT FROM journal_event)",
        name,
    )


async def set_aside(tx: Tx, name: str, event: StoredEvent, failures: int, error: str) -> None:
    """Set the event aside and move the locked reactor behind it."""
    await tx.execute(_SET_ASIDE, name, event.xid, event.sequence, event.event_type, failures, error)
    await advance(tx, name, event)


async def count_waiting(tx: Tx, types_of: Mapping[str, Sequence[str]], bound: int) -> dict[str, int]:
    """How many settled events of its types stand behind the place of each reactor; those behind the bound are not counted."""
    counts = []
    for name, types in types_of.items():
        following = _next_of(types, columns="1", place=("reactor.xid", "reactor.seq"))
        statement = (
            "SELECT $1 AS name, (SELECT count(*) FROM (SELECT FROM journal_reactor reactor"  # noqa: S608
            f" CROSS JOIN LATERAL ({following}) event WHERE name = $1 LIMIT $3) waiting) AS waiting"
        )
        counts.append(_written(statement, name, types, bound))
    rows = await tx.fetch(" UNION ALL ".join(counts)) if counts else []
    return {row["name"]: row["waiting"] for row in rows}


async def before(tx: Tx, types_of: Mapping[str, Sequence[str]], xid: int) -> list[str]:
    """The reactors that have yet to see an event up to this position, or that set one aside."""
    found: list[str] = []
    for name, types in types_of.items():
        following = _next_of(types, columns="event.xid", place=("reactor.xid", "reactor.seq"))
        statement = (
            "SELECT $1 AS name WHERE EXISTS (SELECT FROM journal_reactor reactor"  # noqa: S608
            f" CROSS JOIN LATERAL ({following}) event WHERE name = $1 AND event.xid <= {int(xid)})"
            f" OR EXISTS (SELECT FROM journal_reactor_set_aside WHERE reactor = $1 AND xid <= {int(xid)})"
        )
        found += [row["name"] for row in await tx.fetch(_written(statement, name, types, 1))]
    return found


async def count_set_aside(tx: Tx) -> int:
    """Count the events that reactors gave up on."""
    count: int = await tx.fetchval("SELECT count(*) FROM journal_reactor_set_aside")
    return count


async def set_aside_by(tx: Tx, names: Sequence[str]) -> dict[str, tuple[int, list[SetAside]]]:
    """How many events each of these reactors gave up on, and the newest few of them."""
    counts = await tx.fetch(_COUNT_SET_ASIDE, names)
    rows = await tx.fetch(_NEWEST_SET_ASIDE, names, SET_ASIDE_SHOWN) if counts else []
    newest: dict[str, list[SetAside]] = {}
    for reactor, *members in (tuple(row) for row in rows):
        newest.setdefault(reactor, []).append(SetAside(*members))
    return {row["reactor"]: (row["count"], newest.get(row["reactor"], [])) for row in counts}


async def places_set_aside(tx: Tx, name: str, limit: int) -> list[Place]:
    """Return the places of the oldest events that the reactor gave up on."""
    return [(row["xid"], row["seq"]) for row in await tx.fetch(_OLDEST_SET_ASIDE, name, limit)]


async def take_back(tx: Tx, name: str, place: Place) -> StoredEvent | None:
    """The event that was set aside, which it is no longer; None when somebody else took it back."""
    found = stored(await tx.fetch(_TAKE_BACK, name, *place))
    return found[0] if found else None


async def fail_again(tx: Tx, *, name: str, place: Place, error: str) -> None:
    """Count one more failure of an event that was set aside."""
    await tx.execute(_FAIL_AGAIN, name, *place, error)


def _written(statement: str, name: str, types: Sequence[str], bound: int) -> str:
    """The statement with the name, the types and the bound in place of its parameters."""
    written = {"$1": _literal(name), "$2": f"'{{{','.join(types)}}}'", "$3": str(bound)}
    return _PARAMETER.sub(lambda found: written[found[0]], statement)


def _literal(text: str) -> str:
    """A string constant of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _next_of(types: Sequence[str], *, columns: str, place: tuple[str, str]) -> str:
    is_frequent = FREQUENT & set(types)
    after = rows_after(*place)
    if is_frequent:
        rows = _ROWS_OF_TYPE.format(row="e", of_type=rows_of_type("asked.kind"), after=after)
        events = events_of(rows)
    else:
        rows = _ROWS_OF_TYPE.format(row="e.*", of_type=f"e.event_type = asked.kind AND e.{RARE}", after=after)
        events = own_events_of(rows)
    return _NEXT_OF_TYPES.format(columns=columns, place=", ".join(place), events=events)
