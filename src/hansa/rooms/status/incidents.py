"""Incidents and maintenances: opened and updated by administrators of the platform, read by anybody.

- An update and the state that it brings are one commit; a resolved incident is final.
- What people state changes no measurement: states and uptime of components are what was measured.
"""

from datetime import datetime
from uuid import UUID

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer

from . import store
from .errors import (
    OPEN_MAX,
    UPDATES_MAX,
    IncidentResolved,
    IncidentsTooMany,
    IncidentTimesInvalid,
    IncidentUnknown,
    UpdatesTooMany,
)
from .records import Incident, IncidentState, NewIncident


async def open_incident(tx: Tx, administrator: Developer, new: NewIncident) -> Incident:
    """Open an incident or announce a maintenance. Raises: IncidentTimesInvalid, IncidentsTooMany, AreasWithheld."""
    _require_times(new, await clock.began_at(tx))
    if await store.count_open_locked(tx) >= OPEN_MAX:
        raise IncidentsTooMany
    incident_id = await store.open_incident(tx, new)
    await record_admin_act(
        tx, administrator, act=f"{new.kind}.open", subject=f"incident:{incident_id}", reason=new.title
    )
    return await find_incident(tx, incident_id)


async def update_incident(
    tx: Tx, administrator: Developer, incident_id: UUID, *, state: IncidentState, body: str
) -> Incident:
    """State how far an incident is. Raises: IncidentUnknown, IncidentResolved, UpdatesTooMany, AreasWithheld."""
    locked = await store.lock_incident(tx, incident_id)
    if locked is None:
        raise IncidentUnknown
    present, updates = locked
    if present == "resolved":
        raise IncidentResolved
    if updates >= UPDATES_MAX and state != "resolved":
        raise UpdatesTooMany
    await store.update_incident(tx, incident_id, state, body)
    await record_admin_act(
        tx, administrator, act="incident.update", subject=f"incident:{incident_id}", reason=state
    )
    return await find_incident(tx, incident_id)


async def find_incident(tx: Tx, incident_id: UUID) -> Incident:
    """One incident with its updates. Raises: IncidentUnknown."""
    found = await store.find_incident(tx, incident_id)
    if found is None:
        raise IncidentUnknown
    return found


def _require_times(new: NewIncident, now: datetime) -> None:
    starts_at = new.starts_at or now
    if new.kind == "incident":
        is_valid = starts_at <= now and new.ends_at is None
    else:
        is_valid = new.ends_at is None or new.ends_at > max(starts_at, now)
    if not is_valid:
        raise IncidentTimesInvalid
