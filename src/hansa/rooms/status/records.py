"""Components, their measurements, and incidents, as the rooms pass them on."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Literal
from uuid import UUID

import msgspec

State = Literal["ok", "degraded", "failed", "off"]
"""`degraded` affects no requests; `failed` does; a part that is `off` is not used here."""

Component = Literal["database", "journal", "ledger", "jobs", "mail", "search", "federation", "auditor", "mcp"]
COMPONENTS: tuple[Component, ...] = (
    "database",
    "journal",
    "ledger",
    "jobs",
    "mail",
    "search",
    "federation",
    "auditor",
    "mcp",
)

Kind = Literal["incident", "maintenance"]
IncidentState = Literal["investigating", "identified", "monitoring", "resolved"]


class Check(msgspec.Struct, frozen=True):
    """State of one component; `detail` is for administrators of the platform."""

    name: Component
    state: State
    detail: str


class Measured(msgspec.Struct, frozen=True):
    """Component as it was last measured: its state, the time since which it lasts, and the first measurement of all."""

    name: Component
    state: State
    since: datetime
    measured_at: datetime
    began_at: datetime


class Day(msgspec.Struct, frozen=True):
    """Milliseconds of a day (UTC) in which a component was measured to work."""

    name: Component
    day: date
    up_ms: int


class Measurements(msgspec.Struct, frozen=True):
    """The last measurement of each component, and its days, read at one moment of the database."""

    at: datetime
    components: Mapping[Component, Measured]
    days: Mapping[tuple[Component, date], int]


class IncidentUpdate(msgspec.Struct, frozen=True):
    """Statement on an incident, with the state that it brought."""

    id: UUID
    state: IncidentState
    body: str
    created_at: datetime


class Incident(msgspec.Struct, frozen=True):
    """Incident or maintenance, with its updates, newest first. `ends_at` is the planned end of a maintenance."""

    id: UUID
    kind: Kind
    title: str
    body: str
    components: Sequence[Component]
    state: IncidentState
    starts_at: datetime
    ends_at: datetime | None
    created_at: datetime
    updated_at: datetime
    updates: Sequence[IncidentUpdate] = ()


class NewIncident(msgspec.Struct, frozen=True):
    """Incident or maintenance that an administrator opens; it starts now where `starts_at` is None."""

    kind: Kind
    title: str
    body: str
    components: Sequence[Component]
    starts_at: datetime | None
    ends_at: datetime | None
