"""HTTP doors of the journal."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import CurrentAgent, InternalCaller, LicenceSuspended, Public
from hansa.foundation.plumbing.web.lazy_routes import include
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized

from .activity_routes import activity_router
from .archive import EventsArchived
from .counting import EVENT_COUNTS, EventCounts
from .emission import router as emission_router
from .errors import CursorInvalid
from .ledger_readings import OfLedger
from .participants import (
    PlacedPage,
    count_by_participant,
    end_of_events,
    events_by_participant,
    placed_events,
    require_events_stored,
)
from .projection import router as projection_router
from .public_reading import recent_events
from .reactors import router as reactors_router
from .reading import EventsPage, list_events, require_stored
from .schemas import (
    AggregateQuery,
    EventRecord,
    EventsPageOut,
    EventsQuery,
    EventStats,
    OwnEventsPage,
    OwnEventsQuery,
    RecentEvents,
)

router = APIRouter(tags=["event store"], route_class=GuardedRoute)
include(router, activity_router, emission_router, projection_router, reactors_router)


Counts = Annotated[EventCounts, Depends(EVENT_COUNTS.given)]


@router.get(
    "/public/eventstore-recent",
    responses=problems(Invalid, TooManyRequests),
    dependencies=[Depends(within_read_limit)],
)
async def read_recent_events(
    _: Public, db: Db, settings: Config, limit: Annotated[int, Query(ge=1, le=500)] = 60
) -> RecentEvents:
    """The newest events of the journal, at most RECENT_EVENTS_RING of them."""
    ring = settings.recent_events_ring
    events, depth = await db.read_replicated(lambda tx: recent_events(tx, limit=limit, ring=ring))
    return RecentEvents(
        events=[EventRecord.model_validate(event) for event in events],
        count=len(events),
        ring_depth=depth,
        scope=settings.ledger_id,
        is_seed=True,
    )


@router.get(
    "/public/eventstore-stats",
    responses=problems(TooManyRequests),
    dependencies=[Depends(within_read_limit)],
)
async def read_event_stats(_: Public, counts: Counts, settings: Config) -> EventStats:
    """The number of events per type in the journal, and its first and last position."""
    return EventStats.of(await counts.now(), scope=settings.ledger_id)


@router.get("/agents/me/events", responses=problems(Unauthorized, CursorInvalid, EventsArchived))
async def read_own_events(
    agent: CurrentAgent,
    db: Db,
    settings: Config,
    ledger: OfLedger,
    query: Annotated[OwnEventsQuery, Query()],
) -> OwnEventsPage:
    """The events in which the agent takes part, from a position on; to follow them live, see /ws/events."""
    event_filter = query.event_filter(agent.did, settings.ledger_id)

    async def reading(tx: Tx) -> PlacedPage:
        if query.next is None and query.start == "end":
            end = await end_of_events(tx, agent.did, event_filter.frame, ledger)
            return PlacedPage([], end, is_last=True)
        return await placed_events(tx, event_filter, ledger)

    page = await db.read_replicated(reading)
    await db.query(lambda tx: require_events_stored(tx, event_filter, ledger))
    return OwnEventsPage.of(page, agent.did)


@router.get("/events/", responses=problems(Unauthorized, LicenceSuspended, CursorInvalid, EventsArchived))
async def read_events(_: InternalCaller, db: Db, query: Annotated[EventsQuery, Query()]) -> EventsPageOut:
    """The event log, ascending or descending; ascending up to the oldest open transaction."""
    event_filter = query.event_filter()
    page, total = await db.read_replicated(lambda tx: list_events(tx, event_filter))
    await db.query(lambda tx: require_stored(tx, event_filter.cursor))
    return EventsPageOut.of(page, total, limit=event_filter.limit, offset=event_filter.offset)


@router.get(
    "/events/aggregate/{did}",
    responses=problems(Unauthorized, LicenceSuspended, CursorInvalid, EventsArchived),
)
async def read_events_of(
    _: InternalCaller,
    db: Db,
    settings: Config,
    ledger: OfLedger,
    did: Annotated[str, Path(max_length=512)],
    query: Annotated[AggregateQuery, Query()],
) -> EventsPageOut:
    """Every event of a DID: those about it, and the transactions of its account."""
    event_filter = query.event_filter(did, settings.ledger_id)

    async def reading(tx: Tx) -> tuple[EventsPage, int]:
        page = await events_by_participant(tx, event_filter, ledger)
        return page, await count_by_participant(tx, did, event_filter.frame, ledger)

    page, total = await db.read_replicated(reading)
    await db.query(lambda tx: require_events_stored(tx, event_filter, ledger))
    return EventsPageOut.of(page, total, limit=event_filter.limit, offset=event_filter.offset)
