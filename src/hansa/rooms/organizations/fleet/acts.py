"""Take agents into an organization, release them, and list them. Locks: the organization, then the agent, then its account."""

from hansa.foundation.events import OrganizationAgentMoved
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, journal, ledger
from hansa.rooms.organizations import audit, reading, rules
from hansa.rooms.organizations.errors import RequestUnknown
from hansa.rooms.organizations.requests import store as requests
from hansa.rooms.organizations.requests.needed import RELEASE, Reading, with_needed
from hansa.rooms.organizations.rules import Role
from hansa.rooms.organizations.teams import store as teams

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


async def release(
    tx: Tx, developer: Developer, key: str, did: str, require_unbound: agents.RequireUnbound
) -> Reading:
    """Give an agent with an empty account to the owner who asks; without tiers of approvals the request is carried out at once.

    Raises: ScopeMissing, OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, LimitReached, AccountHoldsUnits, CrossingPending, and as
    `agents.move_to_developer`.
    """
    developer.require(SECRETS)
    organization = await reading.locked(tx, key, developer.id, Role.OWNER)
    await agents.move_to_developer(tx, did, organization.id, developer.id, require_unbound)
    await ledger.require_empty(tx, did)
    await teams.forget_agent(tx, did)
    body = {"did": did, "developer_id": developer.id}
    request = await requests.insert(
        tx, organization.id, RELEASE, body, concerned_id=None, initiator_id=developer.id
    )
    await requests.end(tx, request.id, "EXECUTED")
    await audit.record(tx, organization.id, developer, "agent.release", did)
    moved = OrganizationAgentMoved(
        did, from_=f"organization:{organization.id}", to=f"developer:{developer.id}"
    )
    await journal.append(tx, moved)
    found = await requests.find(tx, organization.id, request.id)
    if found is None:
        raise RequestUnknown
    return (await with_needed(tx, organization.id, [found]))[0]
