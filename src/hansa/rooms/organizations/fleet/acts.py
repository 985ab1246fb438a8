"""Take agents into an organization, release them, and list them. Locks: the organization, then the agent, then its account."""

from hansa.foundation.events import OrganizationAgentMoved
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, journal
from hansa.rooms.organizations import audit, reading, rules
from hansa.rooms.organizations.records import Acting, NewRequest
from hansa.rooms.organizations.requests.acts import ask
from hansa.rooms.organizations.requests.tally import Reading
from hansa.rooms.organizations.rules import Role

from .releasing import RELEASE

SECRETS = "agents:secrets"
"""Scope of an API key that gives an agent away."""


async def agents_of(
    tx: Tx, developer: Developer, key: str, *, limit: int, offset: int
) -> tuple[list[agents.OwnedAgent], int]:
    """A page of the agents, the oldest first, and how many there are. Raises: OrganizationUnknown."""
    organization = await reading.held(tx, key, developer.id, Role.VIEWER)
    page = await agents.of_organization(tx, organization.id, limit=limit, offset=offset)
    return page, await agents.count_of_organization(tx, organization.id)


async def take_in(
    tx: Tx, developer: Developer, key: str, did: str, require_unbound: agents.RequireUnbound
) -> agents.OwnedAgent:
    """Give an own agent to the organization.

    Raises: ScopeMissing, OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, LimitReached, and as `agents.move_to_organization`.
    """
    developer.require(SECRETS)
    organization = await reading.locked(tx, key, developer.id, Role.ADMIN)
    count = await agents.count_of_organization(tx, organization.id, but_revoked=True)
    rules.require_room(count, rules.AGENTS_MAX, "agents of an organization")
    await agents.move_to_organization(tx, did, developer.id, organization.id, require_unbound)
    await audit.record(tx, organization.id, developer, "agent.take_in", did)
    moved = OrganizationAgentMoved(
        did, from_=f"developer:{developer.id}", to=f"organization:{organization.id}"
    )
    await journal.append(tx, moved)
    return await agents.own_agent(tx, developer.id, did, Right.READ)


async def release(tx: Tx, acting: Acting, key: str, did: str) -> Reading:
    """Ask that an agent with an empty account goes to the owner who asks; without tiers of approvals it goes at once.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, agents.AgentUnknown, RequestExists, LimitReached, and where
    it goes at once AccountHoldsUnits, CrossingPending and as `agents.move_to_developer`.
    """
    organization = await reading.locked(tx, key, acting.actor.id, Role.OWNER)
    if not await agents.is_of_organization(tx, did, organization.id):
        raise agents.AgentUnknown("The organization has no agent with this DID.")
    body = {"did": did, "developer_id": acting.actor.id}
    return await ask(tx, acting, organization, RELEASE, NewRequest(body))
