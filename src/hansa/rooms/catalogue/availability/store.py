"""Every SQL statement of availability.

A row of a closed day has its place and never changes: a probe adds to rows without one, under the lock of the row.
"""

from collections.abc import Sequence
from datetime import date, timedelta

from hansa.foundation.plumbing.storage.database import Tx
from hansa_verify import CLASSES_MS

from .records import StoredDay
from .rules import COUNT_MAX, HASH_BYTES, HOUR_MEMBERS

DAYS_STORED = timedelta(days=100)
# A transaction that began before midnight has ended by then.
CLOSED_AFTER = timedelta(hours=1)

_HOUR = f"extract(hour FROM now() AT TIME ZONE 'UTC')::int * {HOUR_MEMBERS}"

# Both places are the same one for a probe without an answer: that of the probes.
_ADD = f"""
INSERT INTO catalogue_probe_day AS d (day, did, counts)
SELECT (now() AT TIME ZONE 'UTC')::date, $1, array_agg((n IN ({_HOUR} + 1, {_HOUR} + $2 + 1))::int::smallint ORDER BY n)
FROM generate_series(1, 24 * {HOUR_MEMBERS}) AS n
ON CONFLICT (day, did) DO UPDATE SET
  counts[{_HOUR} + 1] = d.counts[{_HOUR} + 1] + 1,
  counts[{_HOUR} + $2 + 1] = d.counts[{_HOUR} + $2 + 1] + 1
WHERE d.place IS NULL AND d.counts[{_HOUR} + 1] < {COUNT_MAX}
"""  # noqa: S608

_OLDEST_OPEN = """
SELECT min(day) FROM catalogue_probe_day d
WHERE day > (SELECT coalesce(max(day), '-infinity') FROM catalogue_availability_day)
  AND day < ((now() - $1::interval) AT TIME ZONE 'UTC')::date
"""

_LOCK_SOME = (
    "SELECT did, counts FROM catalogue_probe_day WHERE day = $1 AND did > $2 ORDER BY did LIMIT $3 FOR UPDATE"
)

_PLACE = """
UPDATE catalogue_probe_day d SET place = w.place - 1
FROM unnest($2::text[]) WITH ORDINALITY AS w (did, place) WHERE d.day = $1 AND d.did = w.did
"""

_CLOSE = """
INSERT INTO catalogue_availability_day (day, agents, statement, hashes) VALUES ($1, $2, $3, $4)
"""

# One look into the key for each day.
_STORED = """
SELECT d.day, d.counts, d.place, a.agents, a.statement
FROM generate_series($2::date, $3::date, '1 day') AS w (day)
JOIN catalogue_probe_day d ON d.day = w.day::date AND d.did = $1
JOIN catalogue_availability_day a ON a.day = d.day WHERE d.place IS NOT NULL ORDER BY d.day
"""

_HASHES = f"""
SELECT w.day, w.n, substr(a.hashes, w.at + 1, {HASH_BYTES}) AS hash
FROM unnest($1::date[], $2::int[]) WITH ORDINALITY AS w (day, at, n)
JOIN catalogue_availability_day a ON a.day = w.day ORDER BY w.n
"""  # noqa: S608

_FORGET = """
DELETE FROM catalogue_probe_day WHERE day < (now() AT TIME ZONE 'UTC' - $1::interval)::date
"""
_FORGET_DAYS = """
DELETE FROM catalogue_availability_day WHERE day < (now() AT TIME ZONE 'UTC' - $1::interval)::date
"""


async def add_probe(tx: Tx, did: str, answer_class: int) -> None:
    """Count a probe of an agent in this hour; `answer_class` is that of the time of its answer, 0 without any."""
    assert 0 <= answer_class <= len(CLASSES_MS)
    await tx.execute(_ADD, did, answer_class)


async def has_open_day(tx: Tx) -> bool:
    """Return whether a day has ended that is not closed."""
    return await oldest_open_day(tx) is not None


async def oldest_open_day(tx: Tx) -> date | None:
    """The oldest ended day with probes that is not closed."""
    day: date | None = await tx.fetchval(_OLDEST_OPEN, CLOSED_AFTER)
    return day


async def lock_some(tx: Tx, day: date, after: str, most: int) -> list[tuple[str, Sequence[int]]]:
    """The counts of a day by agent, locked, in the order of the DIDs after one."""
    return [(row["did"], row["counts"]) for row in await tx.fetch(_LOCK_SOME, day, after, most)]


async def close_day(tx: Tx, day: date, dids: Sequence[str], statement: str, hashes: bytes) -> None:
    """Write the statement and the tree of a locked day, and the place of each agent in it."""
    await tx.execute(_CLOSE, day, len(dids), statement, hashes)
    await tx.execute(_PLACE, day, dids)


async def closed_days(tx: Tx, did: str, begin: date, end: date) -> list[StoredDay]:
    """The closed days of an agent from `begin` to `end`."""
    return [StoredDay(**row) for row in await tx.fetch(_STORED, did, begin, end)]


async def hashes_at(tx: Tx, places: Sequence[tuple[date, int]]) -> list[bytes]:
    """The hashes at these offsets of the trees of days, in order."""
    rows = await tx.fetch(_HASHES, [day for day, _ in places], [offset for _, offset in places])
    return [row["hash"] for row in rows]


async def forget_days(tx: Tx) -> None:
    """Delete the days that are in no answer any more."""
    await tx.execute(_FORGET, DAYS_STORED)
    await tx.execute(_FORGET_DAYS, DAYS_STORED)
