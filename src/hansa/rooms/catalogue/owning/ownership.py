"""What the rooms above know of developers and agents, asked when a card is written; supplied at assembly."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.errors import DeveloperSuspended
from hansa.rooms.catalogue.errors import AgentNotActive, AgentNotHere, AgentNotYours
from hansa.rooms.catalogue.signatures import AgentKeys

OwnerAndStatus: TypeAlias = tuple[int, str]


@dataclass(frozen=True)
class Ownership:
    """The first two answers hold until the transaction ends."""

    is_suspended: Callable[[Tx, int], Awaitable[bool]]
    """Whether the developer is suspended, or the account closed."""
    lock_agent: Callable[[Tx, str], Awaitable[OwnerAndStatus | None]]
    """Whose the agent is and its status; None where no agent of this registry has the DID."""

    newest_keys: AgentKeys
    """With which an agent signs its card itself."""

    async def require_not_suspended(self, tx: Tx, developer_id: int) -> None:
        """Raises: DeveloperSuspended."""
        if await self.is_suspended(tx, developer_id):
            raise DeveloperSuspended

    async def require_active_agent(self, tx: Tx, did: str, developer_id: int) -> None:
        """The agent is the developer's own, and active. Raises: AgentNotHere, AgentNotYours, AgentNotActive."""
        found = await self.lock_agent(tx, did)
        if found is None:
            raise AgentNotHere
        owner, status = found
        if owner != developer_id:
            raise AgentNotYours
        if status != "active":
            raise AgentNotActive


async def _given_at_assembly(request: Request) -> Ownership:
    ownership: Ownership = request.app.state.ownership
    return ownership


Owners = Annotated[Ownership, Depends(_given_at_assembly)]
