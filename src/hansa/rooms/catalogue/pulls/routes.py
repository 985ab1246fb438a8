"""HTTP routes of the pulls, for operators."""

from typing import Annotated

from fastapi import APIRouter, Query

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.rooms import journal

from .queue import pull_cycle
from .schemas import PullEventsQuery, PullStatus

router = APIRouter(prefix="/admin/agent-card-pullsync", tags=["agent cards"], route_class=GuardedRoute)

Administrator = Annotated[Developer, admin_holding("admin_platform")]


@router.get("/status", responses=problems(Unauthorized))
async def read_pull_status(_: Administrator, db: Db, settings: Config) -> PullStatus:
    """The status of the pulls of agents' cards, and why some fail."""
    interval = settings.card_pull_interval_seconds
    cycle = await db.read(lambda tx: pull_cycle(tx, interval))
    return PullStatus.of(
        cycle,
        interval_seconds=interval,
        liveness_interval_seconds=settings.card_liveness_interval_seconds,
    )


@router.get(
    "/events", responses=problems(Unauthorized, Invalid, journal.CursorInvalid, journal.EventsArchived)
)
async def read_pull_events(
    _: Administrator, db: Db, query: Annotated[PullEventsQuery, Query()]
) -> journal.EventsPageOut:
    """Changes found by pulls: the AgentCardPulled events, in the order of the log."""
    event_filter = journal.EventFilter(
        limit=query.limit,
        offset=query.offset,
        event_type="AgentCardPulled",
        sort_order=query.sort_order,
        cursor=query.next,
    )
    page, total = await db.read(lambda tx: journal.list_events(tx, event_filter))
    await db.query(lambda tx: journal.require_stored(tx, event_filter.cursor))
    return journal.EventsPageOut.of(page, total, limit=query.limit, offset=query.offset)
