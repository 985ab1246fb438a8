"""Every SQL statement of the status room.

A measurement locks the rows of the components, in the order of their names. An incident is locked by its own UPDATE; opening one
takes an advisory lock, under which the open ones are counted.
"""

from collections.abc import Sequence
from datetime import date, datetime
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from .records import (
    Component,
    Day,
    Incident,
    IncidentState,
    IncidentUpdate,
    Measured,
    Measurements,
    NewIncident,
)

DAYS_STORED = 100
SHOWN_DAYS, SHOWN_MAX = 90, 50

_LOCK_COMPONENTS = """
SELECT name, state, since, measured_at, began_at FROM status_component ORDER BY name FOR NO KEY UPDATE
"""

# The first measurement of a component begins now, and so does its state.
_KEEP_COMPONENTS = """
INSERT INTO status_component AS c (name, state, since, measured_at, began_at)
SELECT name, state, since, $4, since FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS n (name, state, since)
ON CONFLICT (name) DO UPDATE SET state = excluded.state, since = excluded.since, measured_at = excluded.measured_at
"""

_ADD_UPTIME = """
INSERT INTO status_day AS d (name, day, up_ms)
SELECT name, day, up_ms FROM unnest($1::text[], $2::date[], $3::int[]) AS n (name, day, up_ms)
ON CONFLICT (name, day) DO UPDATE SET up_ms = d.up_ms + excluded.up_ms
"""

_FORGET_DAYS = "DELETE FROM status_day WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::int"

# One statement: the page and its uptime are of one moment.
_MEASUREMENTS = """
SELECT now() AS at, c.name, c.state, c.since, c.measured_at, c.began_at, d.days, d.ups
FROM (VALUES (true)) one (is_one) LEFT JOIN status_component c ON true
LEFT JOIN LATERAL (SELECT array_agg(day) AS days, array_agg(up_ms) AS ups FROM status_day WHERE name = c.name) d ON true
"""

_SINCE_MEASURED = """
SELECT coalesce(extract(epoch FROM now() - max(measured_at)), 0)::float8 FROM status_component
"""

_INCIDENT = (
    "i.id, i.kind, i.title, i.body, i.components, i.state, i.starts_at, i.ends_at, i.created_at, i.updated_at"
)

_UPDATES = """
(SELECT coalesce(json_agg(json_build_object('id', u.id, 'state', u.state, 'body', u.body, 'created_at', u.created_at)
  ORDER BY u.number DESC), '[]') FROM status_incident_update u WHERE u.incident_id = i.id) AS updates
"""

_SHOWN = f"""
SELECT {_INCIDENT}, {_UPDATES} FROM status_incident i
WHERE i.state <> 'resolved' OR i.updated_at > now() - make_interval(days => {SHOWN_DAYS})
ORDER BY i.state = 'resolved', i.updated_at DESC, i.id LIMIT {SHOWN_MAX}
"""  # noqa: S608

_FIND = f"SELECT {_INCIDENT}, {_UPDATES} FROM status_incident i WHERE i.id = $1"  # noqa: S608

_LOCK_OPENING = "SELECT pg_advisory_xact_lock(hashtextextended('status: incidents', 0))"

_COUNT_OPEN = "SELECT count(*) FROM status_incident WHERE state <> 'resolved'"

_OPEN = """
INSERT INTO status_incident (kind, title, body, components, starts_at, ends_at)
VALUES ($1, $2, $3, $4, coalesce($5, now()), $6) RETURNING id
"""

_LOCK = "SELECT state, updates FROM status_incident WHERE id = $1 FOR NO KEY UPDATE"

_UPDATE = """
UPDATE status_incident SET state = $2, updates = updates + 1, updated_at = now()
WHERE id = $1 AND state <> 'resolved' RETURNING updates
"""

_ADD_UPDATE = """
INSERT INTO status_incident_update (incident_id, number, state, body) VALUES ($1, $2, $3, $4)
"""


class _SentUpdates(msgspec.Struct):
    updates: list[IncidentUpdate]


async def lock_components(tx: Tx) -> dict[Component, Measured]:
    """The components as they were last measured, locked until the transaction ends."""
    return {row["name"]: Measured(**row) for row in await tx.fetch(_LOCK_COMPONENTS)}


async def keep_components(
    tx: Tx, names: Sequence[str], states: Sequence[str], sinces: Sequence[datetime], now: datetime
) -> None:
    """Write what was measured at `now`."""
    await tx.execute(_KEEP_COMPONENTS, names, states, sinces, now)


async def add_uptime(tx: Tx, days: Sequence[Day]) -> None:
    """Add uptime to the days of components."""
    if days:
        await tx.execute(
            _ADD_UPTIME, [one.name for one in days], [one.day for one in days], [one.up_ms for one in days]
        )


async def forget_days(tx: Tx) -> None:
    """Delete the days that nobody is shown any more."""
    await tx.execute(_FORGET_DAYS, DAYS_STORED)


async def measurements(tx: Tx) -> Measurements:
    """The last measurement of each component, and its days."""
    rows = await tx.fetch(_MEASUREMENTS)
    components: dict[Component, Measured] = {}
    days: dict[tuple[Component, date], int] = {}
    for row in rows:
        name = row["name"]
        if name is None:
            continue
        components[name] = Measured(
            name=name,
            state=row["state"],
            since=row["since"],
            measured_at=row["measured_at"],
            began_at=row["began_at"],
        )
        for day, up_ms in zip(row["days"] or (), row["ups"] or (), strict=True):
            days[name, day] = up_ms
    return Measurements(rows[0]["at"], components, days)


async def seconds_since_measured(tx: Tx) -> float:
    """Age of the last measurement; 0 before the first."""
    seconds: float = await tx.fetchval(_SINCE_MEASURED)
    return seconds


async def shown_incidents(tx: Tx) -> list[Incident]:
    """Open incidents and those of the last 90 days, open ones first, then the one that changed last."""
    return [_incident(row) for row in await tx.fetch(_SHOWN)]


async def find_incident(tx: Tx, incident_id: UUID) -> Incident | None:
    """One incident with its updates."""
    row = await tx.fetchrow(_FIND, incident_id)
    return None if row is None else _incident(row)


async def count_open_locked(tx: Tx) -> int:
    """Count the open incidents; no other is opened before the transaction ends."""
    await tx.execute(_LOCK_OPENING)
    count: int = await tx.fetchval(_COUNT_OPEN)
    return count


async def open_incident(tx: Tx, new: NewIncident) -> UUID:
    """Write an incident; returns its id."""
    incident_id: UUID = await tx.fetchval(
        _OPEN, new.kind, new.title, new.body, list(new.components), new.starts_at, new.ends_at
    )
    return incident_id


async def lock_incident(tx: Tx, incident_id: UUID) -> tuple[IncidentState, int] | None:
    """State of an incident and the number of its updates, locked until the transaction ends."""
    row = await tx.fetchrow(_LOCK, incident_id)
    return None if row is None else (row["state"], row["updates"])


async def update_incident(tx: Tx, incident_id: UUID, state: IncidentState, body: str) -> None:
    """Write the next update of a locked incident that is not resolved."""
    number = await tx.fetchval(_UPDATE, incident_id, state)
    assert number is not None, "a locked incident is open as it was judged"
    await tx.execute(_ADD_UPDATE, incident_id, number, state, body)


def _incident(row: asyncpg.Record) -> Incident:
    members = dict(row.items())
    updates = msgspec.json.decode(f'{{"updates":{members.pop("updates")}}}', type=_SentUpdates).updates
    return msgspec.convert({**members, "updates": updates}, Incident)
