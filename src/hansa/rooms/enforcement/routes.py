"""Suspension over HTTP, for administrators of enforcement."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.rooms import agents
from hansa.rooms.catalogue import CardWrites
from hansa.rooms.organizations import OrganizationUnknown, Repeating, sent_by

from .developers import agents_by_developer, reinstate_developer, suspend_developer
from .errors import AccountOfCaller, DeveloperUnknown
from .organizations import reinstate_organization, suspend_organization
from .schemas import (
    BIGINT_MAX,
    EndedAgentsOut,
    OwnedAgentsOut,
    ReinstateAgentsIn,
    ReinstateDeveloperIn,
    RestoredAgentsOut,
    RestoredDeveloperOut,
    RestoredOrganizationOut,
    RevokeAgentsIn,
    StoppedAgentsOut,
    StoppedDeveloperOut,
    StoppedOrganizationOut,
    SuspendAgentsIn,
    SuspendDeveloperIn,
    SuspendOrganizationIn,
)
from .suspend import reinstate_agents, revoke_agents, suspend_agents

router = APIRouter(prefix="/admin", tags=["administrators"], route_class=GuardedRoute)

Administrator = Annotated[Developer, admin_holding("admin_enforcement")]
SentByAdministrator = Annotated[Repeating, sent_by(admin_holding("admin_enforcement"))]
OrganizationKey = Annotated[str, Path(max_length=64)]
DeveloperId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]


@router.post(
    "/agents/bulk/suspend", responses=problems(Unauthorized, agents.AgentOfCaller, Invalid, BodyInvalid)
)
async def suspend_some_agents(
    body: SuspendAgentsIn, administrator: Administrator, db: CardWrites
) -> StoppedAgentsOut:
    """Suspend agents. A failure for one agent is reported in its row and does not affect the others."""
    rows = await db.transaction(
        lambda tx: suspend_agents(
            tx, body.agent_dids, administrator, reason=body.reason, soft=body.soft_suspend
        )
    )
    return StoppedAgentsOut.of(rows)


@router.post(
    "/agents/bulk/reinstate", responses=problems(Unauthorized, agents.AgentOfCaller, Invalid, BodyInvalid)
)
async def reinstate_some_agents(
    body: ReinstateAgentsIn, administrator: Administrator, db: CardWrites
) -> RestoredAgentsOut:
    """Reinstate agents; all their suspensions end."""
    rows = await db.transaction(
        lambda tx: reinstate_agents(
            tx, body.agent_dids, administrator, reason=body.reason, soft=body.soft_reinstate
        )
    )
    return RestoredAgentsOut.of(rows)


@router.post(
    "/agents/bulk/revoke", responses=problems(Unauthorized, agents.AgentOfCaller, Invalid, BodyInvalid)
)
async def revoke_some_agents(
    body: RevokeAgentsIn, administrator: Administrator, db: CardWrites
) -> EndedAgentsOut:
    """Revoke suspended agents permanently."""
    rows = await db.transaction(
        lambda tx: revoke_agents(tx, body.agent_dids, administrator, reason=body.reason)
    )
    return EndedAgentsOut.of(rows)


@router.get(
    "/agents/by-developer/{developer_id}",
    responses=problems(Unauthorized, DeveloperUnknown, Invalid),
)
async def read_agents_of_developer(
    developer_id: DeveloperId,
    _: Administrator,
    db: Db,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> OwnedAgentsOut:
    """The agents of a developer and their open suspensions."""
    owned = await db.read(lambda tx: agents_by_developer(tx, developer_id, limit=limit, offset=offset))
    return OwnedAgentsOut.of(owned, limit=limit, offset=offset)


@router.post(
    "/developers/{developer_id}/suspend",
    responses=problems(Unauthorized, AccountOfCaller, DeveloperUnknown, Invalid, BodyInvalid),
)
async def suspend_one_developer(
    developer_id: DeveloperId, body: SuspendDeveloperIn, administrator: Administrator, db: CardWrites
) -> StoppedDeveloperOut:
    """Suspend a developer and all agents of the developer."""
    rows = await db.transaction(
        lambda tx: suspend_developer(tx, developer_id, administrator, reason=body.reason)
    )
    return StoppedDeveloperOut.under(developer_id, rows)


@router.post(
    "/developers/{developer_id}/reinstate",
    responses=problems(Unauthorized, AccountOfCaller, DeveloperUnknown, Invalid, BodyInvalid),
)
async def reinstate_one_developer(
    developer_id: DeveloperId,
    administrator: Administrator,
    db: CardWrites,
    body: ReinstateDeveloperIn | None = None,
) -> RestoredDeveloperOut:
    """End a developer's suspension and those of the agents."""
    reason = body.reason if body else None
    rows = await db.transaction(
        lambda tx: reinstate_developer(tx, developer_id, administrator, reason=reason)
    )
    return RestoredDeveloperOut.under(developer_id, rows)


@router.post(
    "/organizations/{organization_id}/suspend",
    response_model=StoppedOrganizationOut,
    responses=problems(Unauthorized, agents.AgentOfCaller, OrganizationUnknown, Invalid, BodyInvalid),
)
async def suspend_one_organization(
    organization_id: OrganizationKey, body: SuspendOrganizationIn, sent: SentByAdministrator, db: CardWrites
) -> Response:
    """Suspend an organization with its treasury and its agents, by its id or slug."""

    async def suspended(tx: Tx) -> StoppedOrganizationOut:
        organization, rows = await suspend_organization(
            tx, organization_id, sent.developer, reason=body.reason
        )
        return StoppedOrganizationOut.under(organization.id, rows)

    return await sent.answer(db, suspended, body)


@router.post(
    "/organizations/{organization_id}/reinstate",
    response_model=RestoredOrganizationOut,
    responses=problems(Unauthorized, agents.AgentOfCaller, OrganizationUnknown, Invalid, BodyInvalid),
)
async def reinstate_one_organization(
    organization_id: OrganizationKey, body: SuspendOrganizationIn, sent: SentByAdministrator, db: CardWrites
) -> Response:
    """Reinstate an organization, and what its suspension alone suspended."""

    async def reinstated(tx: Tx) -> RestoredOrganizationOut:
        organization, rows = await reinstate_organization(
            tx, organization_id, sent.developer, reason=body.reason
        )
        return RestoredOrganizationOut.under(organization.id, rows)

    return await sent.answer(db, reinstated, body)
