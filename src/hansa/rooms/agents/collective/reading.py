"""Read the agents of an organization, and the developers who may read an agent."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.agents.rules import OwnedAgent
from hansa.rooms.agents.status import currently_named

from . import store


async def of_organization(
    tx: Tx, organization_id: UUID, *, limit: int | None = None, offset: int = 0
) -> list[OwnedAgent]:
    """The agents of an organization without its treasury, in any status, the oldest first."""
    found = await store.agents_of(tx, organization_id, limit=limit, offset=offset)
    return await currently_named(tx, found)


async def count_of_organization(tx: Tx, organization_id: UUID, *, but_revoked: bool = False) -> int:
    """The number of its agents, without its treasury; with `but_revoked` of those that have not ended."""
    return await store.count_of(tx, organization_id, but_revoked=but_revoked)


async def counts_of_organizations(tx: Tx, organization_ids: Sequence[UUID]) -> dict[UUID, int]:
    """The number of agents of each organization that has any, without treasuries, in any status."""
    return await store.counts_of(tx, organization_ids)


async def is_of_organization(tx: Tx, did: str, organization_id: UUID) -> bool:
    """Return whether the agent belongs to the organization and is not its treasury."""
    return await store.is_of(tx, did, organization_id)


async def are_related(tx: Tx, one: str, other: str) -> bool:
    """Return whether two agents of this registry have the same owner or affiliated ones."""
    return await store.are_related(tx, one, other)


async def readers_of(tx: Tx, dids: Sequence[str]) -> dict[str, set[int]]:
    """The developers who may read each agent of this registry: its owner, or the members of its organization."""
    readers: defaultdict[str, set[int]] = defaultdict(set)
    for did, developer_id in await store.readers_of(tx, dids):
        readers[did].add(developer_id)
    return dict(readers)


async def secrets_seen_by(tx: Tx, organization_id: UUID, developer_id: int) -> list[str]:
    """The DIDs of the organization's agents whose present secret this developer has read."""
    return await store.secrets_seen_by(tx, organization_id, developer_id)
