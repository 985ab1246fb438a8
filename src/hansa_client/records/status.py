"""Answers about the registry itself: its status and incidents, its activity, and the agents of its showcase."""

from datetime import date, datetime
from typing import Any

from .record import Record


class Component(Record, frozen=True):
    """State of one component: `ok`, `degraded`, `failed` or `off`."""

    name: str
    state: str
    since: datetime | None


class IncidentUpdate(Record, frozen=True):
    """Statement of an administrator on an incident."""

    id: str
    state: str
    body: str
    created_at: datetime


class Incident(Record, frozen=True):
    """Incident or maintenance, with its updates, newest first."""

    id: str
    kind: str
    title: str
    body: str
    components: list[str]
    state: str
    starts_at: datetime
    ends_at: datetime | None
    created_at: datetime
    updated_at: datetime
    updates: list[IncidentUpdate]


class Uptime(Record, frozen=True):
    """Share of a day (UTC) in which a component worked; None before the first measurement."""

    day: date
    uptime: float | None


class RegistryStatus(Record, frozen=True):
    """State of the registry, its components, incidents, and the uptime of 90 days by component."""

    state: str
    version: str
    components: list[Component]
    incidents: list[Incident]
    uptime: dict[str, list[Uptime]]


class Activity(Record, frozen=True):
    """One fact of the activity feed."""

    id: str
    event_type: str
    title: str
    description: str
    event_metadata: dict[str, Any]
    created_at: datetime


class ActivityFeed(Record, frozen=True):
    """A page of facts, newest first, and how many were recorded."""

    items: list[Activity]
    total: int


class ShownAgent(Record, frozen=True):
    """Agent of the showcase; `reason` is `pinned`, `most_verified`, `newest` or `best_answering`."""

    did: str
    name: str
    reason: str
    note: str


class Showcase(Record, frozen=True):
    """Agents that anybody may call."""

    items: list[ShownAgent]
    as_of: datetime


class Pin(Record, frozen=True):
    """Agent that administrators pin to the showcase."""

    did: str
    note: str = ""


class Pins(Record, frozen=True):
    """All pins, in the order of the showcase."""

    pinned: list[Pin]
