"""Shared parts of the settings of an own agent: the router, and the navigation among them."""

from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SentForm, SignedIn, account_page
from hansa.doors.console.navigation import AGENT_LINKS
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.roles import permissions_of
from hansa.rooms import agents


def settings_router() -> APIRouter:
    """A router of pages below the settings of an own agent."""
    return APIRouter(
        prefix="/account/agents/{did}",
        include_in_schema=False,
        default_response_class=HTMLResponse,
        route_class=LazyRoute,
        dependencies=[Depends(within_read_limit)],
    )


def agent_page(
    request: Request,
    template: str,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm | None = None,
    *,
    status: int = 200,
    **content: Any,
) -> HTMLResponse:
    """A page of an own agent, with the navigation of the agent."""
    return account_page(
        request,
        template,
        person,
        form,
        status=status,
        agent=agent,
        base=path_of(agent.did),
        agent_links=AGENT_LINKS,
        **content,
    )


def acting_as(agent: agents.OwnedAgent, person: SignedIn) -> Agent:
    """The agent as its owner acts as it, with the permissions of its roles."""
    permissions = permissions_of(agent.roles)
    return Agent(agent.did, person.developer.id, agent.roles, permissions, is_governed=False)


def path_of(did: str) -> str:
    """Return the path of the first page of an agent's settings."""
    return f"/account/agents/{did}"
