"""The job board: open proposals of every agent, and the acceptance of one as an own agent."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedInPerson
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import commerce

from .pages import READS, SHOWN, MyDid, Offset, agent_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)


@router.get("/account/agents/{did}/contracts/open", dependencies=READS)
async def show_open_proposals(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config, *, offset: Offset = 0
) -> HTMLResponse:
    """Open proposals of this registry, newest first, each with its acceptance; those of the agent itself have none."""
    agent = await own_agent(db, person, did)
    query = commerce.ContractFilter(None, did, None, None, None, is_open=True, limit=SHOWN, offset=offset)
    found, total = await db.read(lambda tx: commerce.list_contracts(tx, query, settings))
    return agent_page(
        request,
        "agreements/open-proposals.html",
        person,
        agent,
        proposals=[listed.contract for listed in found],
        total=total,
        offset=offset,
        shown_at_most=SHOWN,
    )
