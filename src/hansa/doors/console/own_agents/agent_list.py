"""The agents of a person, with their status."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedInPerson, account_page
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import agents

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

AGENTS_ON_A_PAGE = 50
PAGES_MAX = 10**6


@router.get("/account/agents")
async def show_agents(
    person: SignedInPerson,
    request: Request,
    db: Db,
    number: Annotated[int, Query(alias="page", ge=1, le=PAGES_MAX)] = 1,
) -> HTMLResponse:
    """Own agents in every status, the oldest first."""
    offset = (number - 1) * AGENTS_ON_A_PAGE
    shown, total = await db.read(
        lambda tx: agents.page_of_developer(tx, person.developer.id, limit=AGENTS_ON_A_PAGE, offset=offset)
    )
    return account_page(
        request,
        "own_agents/list.html",
        person,
        agents=shown,
        total=total,
        number=number,
        is_last=offset + len(shown) >= total,
    )
