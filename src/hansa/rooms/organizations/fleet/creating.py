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

CREDENTIAL = "bootstrap-token"


async def _hold(tx: Tx, developer_id: int, key: str) -> UUID:
    """Raises: OrganizationUnknown, OrgRoleRequired, OrganizationNotActive, LimitReached."""
    organization = await reading.shared(tx, key, developer_id, Role.ADMIN)
    await store.lock_agents(tx, organization.id)
    count = await agents.count_of_organization(tx, organization.id, but_revoked=True)
    rules.require_room(count, rules.AGENTS_MAX, "agents of an organization")
    return organization.id


async def _record(tx: Tx, developer_id: int, organization_id: UUID, did: str) -> None:
    await audit.record(tx, organization_id, Actor(developer_id, CREDENTIAL), "agent.create", did)


CREATION = agents.OrganizationAgents(_hold, _record)
