"""Activity feed over HTTP, for anybody."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.bodies import GuardedRoute
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests
from hansa.foundation.values.lazy_model import LazyModel

from .activity import Activity, ActivityKind, read_activity

LIMIT_DEFAULT, LIMIT_MAX = 10, 50
OFFSET_MAX = 10_000
EVERY_KIND = tuple(ActivityKind)

activity_router = APIRouter(
    prefix="/system/activity-feed",
    tags=["public"],
    route_class=GuardedRoute,
    dependencies=[Depends(within_read_limit)],
)

Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]


class ActivityItem(LazyModel):
    """One fact, as the public may know it."""

    id: UUID = Field(description="Id of the event in the log.")
    event_type: ActivityKind
    title: str = Field(examples=["Agent registered"])
    description: str = Field(description="One sentence of plain text.", examples=["A dispute was filed."])
    event_metadata: dict[str, Any] = Field(
        description="Members of the event that are public; empty for a dispute, whose parties are private.",
        examples=[{"registry_name": "Vega"}],
    )
    created_at: datetime

    @classmethod
    def of(cls, one: Activity) -> "ActivityItem":
        """The fact as JSON."""
        return cls(
            id=one.id,
            event_type=one.kind,
            title=one.title,
            description=one.description,
            event_metadata=dict(one.metadata),
            created_at=one.created_at,
        )


class ActivityFeed(LazyModel):
    """A page of facts, newest first, and how many were recorded of their kinds."""

    items: list[ActivityItem]
    total: int


@activity_router.get("", responses=problems(Invalid, TooManyRequests))
async def read_activity_feed(
    _: Public, db: Db, *, limit: Limit = LIMIT_DEFAULT, offset: Offset = 0
) -> ActivityFeed:
    """Activity of every kind."""
    return await _page(db, EVERY_KIND, limit, offset)


@activity_router.get("/by-type/{type}", responses=problems(Invalid, TooManyRequests))
async def read_activity_of_kind(
    _: Public,
    db: Db,
    type: ActivityKind,  # noqa: A002
    *,
    limit: Limit = LIMIT_DEFAULT,
    offset: Offset = 0,
) -> ActivityFeed:
    """Activity of one kind."""
    return await _page(db, [type], limit, offset)


async def _page(
    db: Database, kinds: tuple[ActivityKind, ...] | list[ActivityKind], limit: int, offset: int
) -> ActivityFeed:
    found, total = await db.read_replicated(lambda tx: read_activity(tx, kinds, limit=limit, offset=offset))
    return ActivityFeed(items=[ActivityItem.of(one) for one in found], total=total)
