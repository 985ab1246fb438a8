"""Shared parts of an own agent's pages: the router, the agent, and the navigation among them."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SentForm, SignedIn, account_page
from hansa.doors.console.navigation import agent_tabs, right_for
from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import limited, within_read_limit
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import OrgRoleRequired
from hansa.foundation.values.rights import Right
from hansa.foundation.values.roles import permissions_of
from hansa.rooms import agents, federation

MyDid = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1)]
# Rows of a list on one page.
SHOWN = 50
READS = [Depends(within_read_limit)]
ACTS = [Depends(limited(agents.ACT_TOKENS))]
# Pages for which only some registries have a use.
BRIDGE, MARKET = ("/wallet/bridge",), ("/market",)


def settings_router() -> APIRouter:
    """A router of pages below the settings of an own agent."""
    return APIRouter(
        prefix="/account/agents/{did}",
        include_in_schema=False,
        default_response_class=HTMLResponse,
        route_class=LazyRoute,
        dependencies=[Depends(within_read_limit)],
    )


async def own_agent(db: Database, person: SignedIn, did: str) -> agents.OwnedAgent:
    """An agent of this person, in any status. Raises: AgentUnknown, also for an agent of another developer."""
    return await db.read(lambda tx: agents.own_agent(tx, person.developer.id, did))


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
    """A page of an own agent, with the navigation of the agent. Raises: OrgRoleRequired, where a member may not open it."""
    base = path_of(agent.did)
    settings = runtime_of(request).settings
    without = (
        *(() if federation.is_mainframe(settings) else BRIDGE),
        *(() if settings.exchange_enabled else MARKET),
    )
    if agent.held_right < right_for(base, request.url.path):
        raise OrgRoleRequired
    tabs, subpages = agent_tabs(base, request.url.path, agent.held_right, without)
    return account_page(
        request,
        template,
        person,
        form,
        status=status,
        agent=agent,
        base=base,
        tabs=tabs,
        subpages=subpages,
        organization_of_agent=next(
            (one for one in person.organizations if one.id == agent.organization_id), None
        ),
        may_operate=agent.held_right >= Right.OPERATE,
        may_manage=agent.held_right >= Right.MANAGE,
        **{"done": request.query_params.get("done", ""), **content},
    )


def choice_page(
    request: Request,
    person: SignedIn,
    owned: Sequence[agents.OwnedAgent],
    *,
    act: str,
    lead: str,
    page: str,
    back: tuple[str, str],
) -> HTMLResponse:
    """Choice of the active own agent for an act on its `page`; `back` is the address and the name of what the act is about."""
    return account_page(
        request,
        "own_agents/choose-agent.html",
        person,
        act=act,
        lead=lead,
        page=page,
        back=back[0],
        back_name=back[1],
        agents=[agent for agent in owned if agent.status == "active"],
    )


def acting_as(agent: agents.OwnedAgent, person: SignedIn) -> Agent:
    """The agent as its owner acts as it, with the permissions of its roles."""
    permissions = permissions_of(agent.roles)
    return Agent(agent.did, person.developer.id, agent.roles, permissions, is_governed=False)


def as_reader(did: str, person: SignedIn) -> Agent:
    """The agent as it reads its contracts and disputes, without permissions; its owner reads them also while it is suspended."""
    return Agent(did, person.developer.id, (), frozenset(), is_governed=False)


def path_of(did: str) -> str:
    """Return the path of the first page of an agent's settings."""
    return f"/account/agents/{did}"


def address_of(did: str, page: str, done: str = "") -> str:
    """The address of a page of an own agent."""
    return f"{path_of(did)}/{page}" + (f"?done={done}" if done else "")
