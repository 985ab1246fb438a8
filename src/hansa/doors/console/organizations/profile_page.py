"""Public profile of an organization that chose to be public: its words, its listed agents, and what they have settled."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.rendering import page
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import catalogue, organizations

from .pages import Key

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

AGENTS_SHOWN = 100


@router.get("/organizations/{slug}")
async def show_profile(_: Public, slug: Key, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """A public organization with its listed agents. Raises: OrganizationUnknown, also for a private one."""

    async def reading(tx: Tx) -> tuple[organizations.Shown, list[catalogue.WorkOfAgent]]:
        shown = await organizations.profile_of(tx, slug, None)
        agents = await catalogue.listed_agents_of_organization(tx, shown.organization.id, AGENTS_SHOWN)
        return shown, agents

    shown, agents = await db.read(reading)
    return page(
        request,
        "organizations/profile.html",
        profile=shown.organization,
        counts=shown.counts,
        agents=agents,
        currency=settings.settlement_currency,
    )
