"""Events of the registry."""

from datetime import datetime
from typing import Any, ClassVar

from .record import Record


class Event(Record, frozen=True):
    """An event in which the agent takes part. `position` is the place to resume after it."""

    id: str
    sequence: int
    event_type: str
    aggregate_id: str
    aggregate_type: str
    data: dict[str, Any]
    metadata: dict[str, Any]
    timestamp: datetime
    version: int
    source_service: str
    idempotency_key: str | None
    position: str


class EventsPage(Record, frozen=True):
    """Events, the oldest first; `position` is the place to resume after them."""

    items: list[Event]
    position: str
    is_last: bool


class FeedTicket(Record, frozen=True):
    """Opens the live feed once within `expires_in` seconds."""

    secrets: ClassVar = frozenset({"ticket"})

    ticket: str
    expires_in: int
