"""Every SQL statement of metrics. Rows are written in one order, by agent, step and time: two writers never wait for each other."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from .records import COLUMNS, Figures, Minute, SettleTimes, Step, TimeRange
from .rules import HOURS_KEPT, MINUTES_KEPT

FORGOTTEN_AT_ONCE = 20_000
COUNTED = "operations_metric_counted"

# The figures of a minute are added to its minute, to its hour and to those of ever. Old minutes come with events that waited.
_STEPS = """
CROSS JOIN (VALUES ('minute'), ('hour'), ('ever')) AS s (step)
WHERE s.step <> 'minute' OR n.minute > now() - $1::interval
"""
_AT = "CASE s.step WHEN 'ever' THEN 'epoch'::timestamptz ELSE date_trunc(s.step, n.minute, 'UTC') END"

_ADD = f"""
INSERT INTO operations_metric AS m (agent_did, step, at, {", ".join(COLUMNS)})
SELECT n.agent_did, s.step, {_AT}, {", ".join(f"sum(n.{name})" for name in COLUMNS)}
FROM unnest($2::text[], $3::timestamptz[], {", ".join(f"${place}::numeric[]" for place in range(4, 4 + len(COLUMNS)))})
  AS n (agent_did, minute, {", ".join(COLUMNS)})
{_STEPS}
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
ON CONFLICT (agent_did, step, at) DO UPDATE SET {", ".join(f"{name} = m.{name} + excluded.{name}" for name in COLUMNS)}
"""  # noqa: S608

_ADD_TIMES = f"""
INSERT INTO operations_settle_time AS t (agent_did, step, at, bucket, payments)
SELECT n.agent_did, s.step, {_AT}, n.bucket, sum(n.payments)
FROM unnest($2::text[], $3::timestamptz[], $4::smallint[], $5::bigint[]) AS n (agent_did, minute, bucket, payments)
{_STEPS}
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
ON CONFLICT (agent_did, step, at, bucket) DO UPDATE SET payments = t.payments + excluded.payments
"""  # noqa: S608

_FIGURES = f"""
SELECT date_bin($3::interval, at, 'epoch'::timestamptz) AS at, {", ".join(f"sum({name})::numeric AS {name}" for name in COLUMNS)}
FROM operations_metric WHERE agent_did = $1 AND step = $2 AND at >= $4 GROUP BY 1
"""  # noqa: S608

_TIMES = """
SELECT date_bin($3::interval, at, 'epoch'::timestamptz) AS at, bucket, sum(payments)::bigint AS payments
FROM operations_settle_time WHERE agent_did = $1 AND step = $2 AND at >= $4 GROUP BY 1, 2
"""

_EVER = f"SELECT {', '.join(COLUMNS)} FROM operations_metric WHERE agent_did = $1 AND step = 'ever'"  # noqa: S608

_OLD = " OR ".join(
    f"EXISTS (SELECT FROM {table} WHERE step = '{step}' AND at < now() - interval '{kept.total_seconds():.0f} seconds')"
    for table in ("operations_metric", "operations_settle_time")
    for step, kept in (("minute", MINUTES_KEPT), ("hour", HOURS_KEPT))
)

_FORGET = """
DELETE FROM {table} WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM {table} WHERE step = $1 AND at < now() - $2::interval LIMIT $3
))
"""


class Counted(msgspec.Struct, frozen=True):
    """Place in the journal up to which the figures are complete, and the time of the reading."""

    before_xid: int
    now: datetime


async def lock_counted(tx: Tx) -> int:
    """The transaction before which all events are in the figures; others that add wait."""
    before_xid: int = await tx.fetchval("SELECT before_xid FROM operations_metric_counted FOR UPDATE")
    return before_xid


async def set_counted(tx: Tx, before_xid: int) -> None:
    """All events before this transaction are in the figures."""
    await tx.execute("UPDATE operations_metric_counted SET before_xid = $1", before_xid)


async def counted(tx: Tx) -> Counted:
    """How far the figures are complete."""
    row = await tx.fetchrow("SELECT before_xid, now() AS now FROM operations_metric_counted")
    assert row is not None
    return Counted(row["before_xid"], row["now"])


async def add(tx: Tx, figures: Mapping[Minute, Figures]) -> None:
    """Add figures of minutes."""
    if not figures:
        return
    columns = [[Decimal(getattr(one, name)) for one in figures.values()] for name in COLUMNS]
    await tx.execute(_ADD, MINUTES_KEPT, [did for did, _ in figures], [at for _, at in figures], *columns)


async def add_settle_times(tx: Tx, times: Mapping[Minute, SettleTimes]) -> None:
    """Add settled payments of minutes by their times."""
    rows = [
        (did, at, bucket, payments)
        for (did, at), buckets in times.items()
        for bucket, payments in buckets.items()
    ]
    if rows:
        await tx.execute(_ADD_TIMES, MINUTES_KEPT, *(list(column) for column in zip(*rows, strict=True)))


async def figures_of(tx: Tx, did: str, wanted: TimeRange, begins_at: datetime) -> dict[datetime, Figures]:
    """The figures of each point of a range that has some."""
    rows = await tx.fetch(_FIGURES, did, wanted.step, timedelta(seconds=wanted.seconds), begins_at)
    return {row["at"]: Figures(*(int(row[name]) for name in COLUMNS)) for row in rows}


async def settle_times_of(
    tx: Tx, did: str, wanted: TimeRange, begins_at: datetime
) -> dict[datetime, dict[int, int]]:
    """The times of settled payments in each point of a range that has some."""
    found: dict[datetime, dict[int, int]] = {}
    for row in await tx.fetch(_TIMES, did, wanted.step, timedelta(seconds=wanted.seconds), begins_at):
        found.setdefault(row["at"], {})[row["bucket"]] = row["payments"]
    return found


async def figures_ever(tx: Tx, did: str) -> Figures:
    """The figures of an agent since they are counted."""
    row = await tx.fetchrow(_EVER, did)
    return Figures() if row is None else Figures(*(int(row[name]) for name in COLUMNS))


async def has_old(tx: Tx) -> bool:
    """Return whether figures are older than they are stored for."""
    found: bool = await tx.fetchval(f"SELECT {_OLD}")
    return found


async def forget_old(tx: Tx) -> None:
    """Delete some of the figures that are older than they are stored for."""
    kept: tuple[tuple[Step, timedelta], ...] = (("minute", MINUTES_KEPT), ("hour", HOURS_KEPT))
    for table in ("operations_metric", "operations_settle_time"):
        for step, age in kept:
            await tx.execute(_FORGET.format(table=table), step, age, FORGOTTEN_AT_ONCE)
