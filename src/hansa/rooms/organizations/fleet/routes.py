"""Agents of an organization over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, ScopeMissing, developer_holding
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.errors import Conflict, Invalid, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import agents, catalogue, ledger
from hansa.rooms.organizations.errors import (
    LimitReached,
    OrganizationNotActive,
    OrganizationUnknown,
    OrgRoleRequired,
    RequestExists,
)
from hansa.rooms.organizations.repeating import Sent, status_of
from hansa.rooms.organizations.requests.schemas import WAITS, OrganizationRequestOut
from hansa.rooms.organizations.rules import AGENTS_MAX

from .acts import SECRETS, agents_of, release, take_in

OFFSET_MAX = 2**31 - 1

router = APIRouter(
    prefix="/organizations/{organization_id}/agents", tags=["organizations"], route_class=GuardedRoute
)

Key = Annotated[str, Path(max_length=64)]
ReadingDeveloper = Annotated[Developer, developer_holding("orgs:read")]
Did = Annotated[str, Path(max_length=DID_MAX_CHARACTERS)]
Unbound = Annotated[agents.RequireUnbound, Depends(agents.REQUIRE_UNBOUND.given)]


class OrganizationAgentIn(RequestBody):
    """Own agent that the organization is to have."""

    did: Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]


@router.get("", responses=problems(Unauthorized, OrganizationUnknown, Invalid))
async def read_agents_of_organization(
    organization_id: Key,
    developer: ReadingDeveloper,
    db: Db,
    limit: Annotated[int, Query(ge=1, le=AGENTS_MAX)] = 100,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> Page[agents.OwnAgentOut]:
    """The agents of an own organization in every status, oldest first."""
    page, total = await db.read(
        lambda tx: agents_of(tx, developer, organization_id, limit=limit, offset=offset)
    )
    return Page(
        items=[agents.OwnAgentOut.of(agent) for agent in page],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.post(
    "",
    status_code=201,
    response_model=agents.OwnAgentOut,
    responses=problems(
        Unauthorized,
        KeyReused,
        KeyInProgress,
        ScopeMissing,
        OrganizationUnknown,
        OrganizationNotActive,
        OrgRoleRequired,
        LimitReached,
        agents.AgentUnknown,
        agents.NotTheOwner,
        agents.AgentSuspended,
        Conflict,
        Invalid,
        BodyInvalid,
    ),
)
async def take_agent_in(
    organization_id: Key,
    body: OrganizationAgentIn,
    sent: Sent,
    db: catalogue.CardWrites,
    require_unbound: Unbound,
) -> Response:
    """Give an own agent to an organization. Its secret, tokens, capabilities and wallets end. An API key needs `agents:secrets` as well."""

    async def taken(tx: Tx) -> agents.OwnAgentOut:
        agent = await take_in(tx, sent.developer, organization_id, body.did, require_unbound)
        return agents.OwnAgentOut.of(agent)

    return await sent.answer(db, taken, body, status=201)


@router.post(
    "/{did}/release",
    response_model=OrganizationRequestOut,
    responses=WAITS
    | problems(
        Unauthorized,
        KeyReused,
        KeyInProgress,
        ScopeMissing,
        OrganizationUnknown,
        OrganizationNotActive,
        OrgRoleRequired,
        LimitReached,
        RequestExists,
        agents.AgentUnknown,
        agents.AgentSuspended,
        ledger.AccountHoldsUnits,
        ledger.CrossingPending,
        Conflict,
        Invalid,
    ),
)
async def release_agent(organization_id: Key, did: Did, sent: Sent, db: catalogue.CardWrites) -> Response:
    """Give an agent with an empty account to the owner who asks, at once or after the approvals of the highest tier.

    Its secret, tokens, capabilities and wallets end. An API key needs `agents:secrets` as well.
    """
    sent.developer.require(SECRETS)

    async def released(tx: Tx) -> OrganizationRequestOut:
        request = await release(tx, sent.acting, organization_id, did)
        return OrganizationRequestOut.of(request)

    answer = await sent.answer(db, released)
    answer.status_code = status_of(answer.body)
    return answer
