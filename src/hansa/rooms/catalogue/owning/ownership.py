"""Facts about developers and agents that the rooms above supply when a card is written: slots that they fill."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias

import msgspec
from fastapi import Depends, Request

from hansa.foundation.plumbing.process.runtime import Runtime, Slot, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED
from hansa.foundation.values.errors import DeveloperSuspended, OrgRoleRequired
from hansa.foundation.values.rights import Right
from hansa.rooms.catalogue.card_rights import HELD_RIGHT, CardReader, RightAt
from hansa.rooms.catalogue.errors import AgentNotActive, AgentNotHere, AgentNotYours, CardNotYours
from hansa.rooms.catalogue.records import Card
from hansa.rooms.catalogue.signatures import AGENT_KEYS, AgentKeys

RightAndStatus: TypeAlias = tuple[Right | None, str]


class Ownership(msgspec.Struct, frozen=True):
    """The first three answers hold until the transaction ends."""

    is_suspended: Callable[[Tx, int], Awaitable[bool]]
    """Whether the developer is suspended, or the account closed."""
    lock_agent: Callable[[Tx, int, str], Awaitable[RightAndStatus | None]]
    """The right of the developer at the agent, and its status; None where no agent of this registry has the DID."""

    right_at: RightAt
    """The right of the developer at the agent."""

    newest_keys: AgentKeys
    """With which an agent signs its card itself."""

    async def require_not_suspended(self, tx: Tx, developer_id: int) -> None:
        """Raises: DeveloperSuspended."""
        if await self.is_suspended(tx, developer_id):
            raise DeveloperSuspended

    async def require_active_agent(self, tx: Tx, did: str, developer_id: int) -> None:
        """The developer may change the card of the agent, which is active. Raises: AgentNotHere, AgentNotYours, OrgRoleRequired, AgentNotActive."""
        found = await self.lock_agent(tx, developer_id, did)
        if found is None:
            raise AgentNotHere
        right, status = found
        if right is None:
            raise AgentNotYours
        if right < Right.OPERATE:
            raise OrgRoleRequired
        if status != "active":
            raise AgentNotActive

    async def require_right(self, tx: Tx, card: Card, developer_id: int, right: Right) -> None:
        """Raises: CardNotYours, where the developer has no right at the card, OrgRoleRequired, where the developer has not this one."""
        held = await CardReader(developer_id, self.right_at).right(tx, card)
        if held is None:
            raise CardNotYours
        if held < right:
            raise OrgRoleRequired


LOCK_AGENT: Slot[Callable[[Tx, int, str], Awaitable[RightAndStatus | None]]] = Slot(
    "catalogue: right at a locked agent"
)


def ownership_in(runtime: Runtime) -> Ownership:
    """Return the slots that the rooms above fill in this process."""
    return Ownership(
        IS_DEVELOPER_SUSPENDED.of(runtime),
        LOCK_AGENT.of(runtime),
        HELD_RIGHT.of(runtime),
        AGENT_KEYS.of(runtime),
    )


async def _ownership_of(request: Request) -> Ownership:
    return ownership_in(runtime_of(request))


Owners = Annotated[Ownership, Depends(_ownership_of)]
