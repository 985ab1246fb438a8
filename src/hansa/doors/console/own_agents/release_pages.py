"""Versions of the code of an own agent and its deployments, with state and reason."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedInPerson
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.rooms import agents, operations

from .pages import READS, MyDid, agent_page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

SHOWN = 50


@router.get("/account/agents/{did}/releases", dependencies=READS)
async def show_releases(did: MyDid, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The newest versions of the code, and the newest deployments."""
    # A reader without the right at the agent gets its refusal.
    agent, releases, deployments = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: operations.releases_of(tx, did, None, SHOWN),
            lambda tx: operations.list_deployments(tx, person.developer, did, None, SHOWN),
        )
    )
    return agent_page(
        request,
        "own_agents/releases.html",
        person,
        agent,
        releases=releases,
        deployments=deployments,
    )
