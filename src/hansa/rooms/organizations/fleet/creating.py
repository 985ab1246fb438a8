"""Creation of agents that belong to an organization from the beginning.

Locks: the organization, shared, so that members and its suspension stay as they are; then its number of agents, so that of two creations
the second counts the agent of the first.
"""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents
from hansa.rooms.organizations import audit, reading, rules, store
from hansa.rooms.organizations.records import Actor
from hansa.rooms.organizations.rules import Role
from hansa.rooms.organizations.teams import store as teams

CREDENTIAL = "bootstrap-token"


async def _hold(tx: Tx, developer_id: int, key: str) -> UUID:
    """Raises: OrganizationUnknown, OrgRoleRequired, OrganizationNotActive, LimitReached."""
    organization = await reading.shared(tx, key, developer_id, Role.ADMIN)
    await _require_room(tx, organization.id)
    return organization.id


async def _hold_for_agent(tx: Tx, organization_id: UUID) -> None:
    """Raises: OrganizationNotActive, LimitReached."""
    await store.share(tx, organization_id)
    found = await store.find(tx, organization_id, None)
    assert found is not None, "an agent of an organization"
    reading.require_active(found)
    await _require_room(tx, organization_id)


async def _require_room(tx: Tx, organization_id: UUID) -> None:
    await store.lock_agents(tx, organization_id)
    count = await agents.count_of_organization(tx, organization_id, but_revoked=True)
    rules.require_room(count, rules.AGENTS_MAX, "agents of an organization")


async def _record(tx: Tx, developer_id: int, organization_id: UUID, did: str) -> None:
    await audit.record(tx, organization_id, Actor(developer_id, CREDENTIAL), "agent.create", did)


async def join_teams_of(tx: Tx, parent_did: str, child_did: str) -> None:
    """Give a new child the places of its parent in the teams of the organization."""
    await teams.copy_places(tx, parent_did, child_did)


CREATION = agents.OrganizationAgents(_hold, _hold_for_agent, _record)
