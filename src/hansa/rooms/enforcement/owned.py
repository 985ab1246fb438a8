"""Agents of a developer with their suspensions, for an administrator."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents

from . import store
from .developers import require_developer
from .rules import DeveloperSuspension, Suspension


class OwnedAgents(msgspec.Struct, frozen=True):
    """Page of a developer's agents, the oldest first, each with its suspensions."""

    developer_id: int
    developer_name: str
    developer_suspension: DeveloperSuspension | None
    agents: Sequence[tuple[agents.OwnedAgent, Sequence[Suspension]]]
    total: int


async def agents_by_developer(tx: Tx, developer_id: int, *, limit: int, offset: int) -> OwnedAgents:
    """Read one page. Raises: DeveloperUnknown."""
    name = await require_developer(tx, developer_id)
    owned = await agents.of_developer(tx, developer_id)
    page = owned[offset : offset + limit]
    suspensions = await store.suspensions_of(tx, [agent.did for agent in page])
    return OwnedAgents(
        developer_id=developer_id,
        developer_name=name,
        developer_suspension=await store.developer_suspension(tx, developer_id),
        agents=[(agent, suspensions.get(agent.did, [])) for agent in page],
        total=len(owned),
    )
