"""HTTP doors of the journal."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from hansa.foundation.plumbing.bodies import GuardedRoute
from hansa.foundation.plumbing.caller import Public
from hansa.foundation.plumbing.limits import within_read_limit
from hansa.foundation.plumbing.problem_docs import problems
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.foundation.words.errors import Invalid, TooManyRequests

from .recent import recent_events
from .schemas import EventRecord, RecentEvents

router = APIRouter(tags=["event store"], route_class=GuardedRoute)


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
    events, depth = await db.read(lambda tx: recent_events(tx, limit=limit, ring=ring))
    return RecentEvents(
        events=[EventRecord.model_validate(event) for event in events],
        count=len(events),
        ring_depth=depth,
        scope=settings.trust_domain,
        is_seed=True,
    )
