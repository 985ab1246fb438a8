"""Showcase over HTTP: for anybody, and its pins for administrators of the platform."""

from typing import Annotated

from fastapi import APIRouter, Depends

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, admin_holding
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, TooManyRequests, Unauthorized
from hansa.rooms.catalogue.errors import AgentNotHere
from hansa.rooms.catalogue.search import Search

from .pinning import pin_agents, pins
from .reading import read_showcase
from .schemas import PinsIn, PinsOut, ShowcaseOut

router = APIRouter(route_class=GuardedRoute)

PlatformAdministrator = Annotated[Developer, admin_holding("admin_platform")]


@router.get(
    "/public/showcase",
    tags=["public"],
    responses=problems(TooManyRequests),
    dependencies=[Depends(within_read_limit)],
)
async def show_showcase(_: Public, searcher: Search, db: Db) -> ShowcaseOut:
    """Agents of this registry that anybody may call: pinned ones, those with most verified jobs, the newest, and those that answer best."""
    return ShowcaseOut.of(*await read_showcase(searcher, db))


@router.put(
    "/admin/showcase",
    tags=["administrators"],
    responses=problems(Unauthorized, AgentNotHere, Invalid, BodyInvalid),
)
async def pin_showcase(body: PinsIn, administrator: PlatformAdministrator, db: Db) -> PinsOut:
    """Replace the pinned agents. One that is not listed or not callable is shown once it is."""

    async def pinned(tx: Tx) -> PinsOut:
        await pin_agents(tx, administrator, body.pins())
        return PinsOut.of(await pins(tx))

    return await db.transaction(pinned)
