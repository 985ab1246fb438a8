"""Shapes of the journal's answers."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination

from . import participants
from .audience import seen_by
from .counting import Counts
from .reading import EventFilter, EventsPage, SortOrder


class EventsQuery(LazyModel):
    """Which events of the log."""

    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=1_000_000)
    event_type: str | None = Field(default=None, pattern=r"^[A-Z][A-Za-z0-9]{1,79}$")
    sort_order: SortOrder = "asc"
    next: str | None = Field(default=None, max_length=64, description="The cursor of the previous page.")

    def event_filter(self) -> EventFilter:
        """The page that this query asks for."""
        return EventFilter(
            limit=self.limit,
            offset=self.offset,
            event_type=self.event_type,
            sort_order=self.sort_order,
            cursor=self.next,
        )


class AggregateQuery(LazyModel):
    """Which of the events of one DID."""

    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=1_000_000)
    sort_order: SortOrder = "asc"
    next: str | None = Field(default=None, max_length=64, description="The cursor of the previous page.")

    def event_filter(self, did: str, frame: str) -> participants.ParticipantFilter:
        """The page that this query asks for."""
        return participants.ParticipantFilter(
            did=did,
            frame=frame,
            limit=self.limit,
            offset=self.offset,
            sort_order=self.sort_order,
            cursor=self.next,
        )


class EventRecord(LazyModel):
    """One event of the journal."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    sequence: int = Field(description="Position in the journal; increasing, with gaps.")
    event_type: str
    aggregate_id: str
    aggregate_type: str
    data: dict[str, Any]
    metadata: dict[str, Any]
    timestamp: datetime
    version: int
    source_service: str
    idempotency_key: str | None


class OwnEventsQuery(LazyModel):
    """Which of the agent's own events."""

    limit: int = Field(default=100, ge=1, le=1000)
    next: str | None = Field(
        default=None, max_length=64, description="The `position` of an event or of a page: what follows it."
    )
    start: Literal["beginning", "end"] = Field(
        default="beginning",
        description="Without `next`: the whole history, or only the position of what happens from now on.",
    )

    def event_filter(self, did: str, frame: str) -> participants.ParticipantFilter:
        """The page that this query asks for."""
        return participants.ParticipantFilter(did=did, frame=frame, limit=self.limit, cursor=self.next)


class OwnEvent(EventRecord):
    """An event in which the agent takes part, as the agent sees it."""

    position: str = Field(description="Send it as `next` for what follows this event.")


class OwnEventsPage(LazyModel):
    """The agent's own events, the oldest first. No event is missed and none is repeated by following `position`."""

    items: list[OwnEvent]
    position: str = Field(description="Send it as `next`, now or later, for what follows this page.")
    is_last: bool = Field(description="Whether nothing follows this page now.")

    @classmethod
    def of(cls, page: participants.PlacedPage, did: str) -> "OwnEventsPage":
        """Return the page as the agent sees it; events that it may not see are left out."""
        shown = [(seen_by(placed.event, {did}), placed.position) for placed in page.events]
        return cls(
            items=[
                OwnEvent(**EventRecord.model_validate(event).model_dump(), position=position)
                for event, position in shown
                if event is not None
            ],
            position=page.position,
            is_last=page.is_last,
        )


class EventsPageOut(Page[EventRecord]):
    """A page of the log."""

    next: str | None = Field(description="Send it as `next` for the following page; null on the last one.")
    position: str = Field(description="The end of this page: send it as `next` later to read newer events.")

    @classmethod
    def of(cls, page: EventsPage, total: int, *, limit: int, offset: int) -> "EventsPageOut":
        return cls(
            items=[EventRecord.model_validate(event) for event in page.events],
            pagination=Pagination.of(total=total, limit=limit, offset=offset),
            next=page.next,
            position=page.position,
        )


class EventStats(LazyModel):
    """The size of the log, exact at one point in time."""

    total_events: int
    events_by_type: dict[str, int]
    first_sequence: int | None
    first_timestamp: datetime | None
    last_sequence: int | None
    last_timestamp: datetime | None
    scope: str = Field(description="The frame of the events.")
    as_of: datetime

    @classmethod
    def of(cls, counts: Counts, *, scope: str) -> "EventStats":
        return cls(
            total_events=counts.total,
            events_by_type=dict(counts.by_type),
            first_sequence=counts.first and counts.first.sequence,
            first_timestamp=counts.first and counts.first.recorded_at,
            last_sequence=counts.last and counts.last.sequence,
            last_timestamp=counts.last and counts.last.recorded_at,
            scope=scope,
            as_of=counts.as_of,
        )


class RecentEvents(LazyModel):
    """The newest events, newest first."""

    events: list[EventRecord]
    count: int
    ring_depth: int = Field(description="The maximum number of events in this response.")
    scope: str = Field(description="The frame of the events.")
    is_seed: bool = Field(
        description="Whether the events come from the store; false if they come from the live feed."
    )
