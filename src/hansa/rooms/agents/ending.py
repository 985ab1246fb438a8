"""An agent ends by its own word or its owner's. A suspended one does not: it would escape the cause of its suspension."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer

from . import rules, store
from .errors import AgentSuspended
from .status import retire

RequireUnbound: TypeAlias = Callable[[Tx, str], Awaitable[None]]

REQUIRE_UNBOUND: Slot[RequireUnbound] = Slot("agents: nothing binds an agent")
"""Raises Conflict when an agreement binds the agent of that DID, which the caller has locked."""


async def end_own_agent(tx: Tx, developer: Developer, did: str, require_unbound: RequireUnbound) -> None:
    """End an own agent for good; one that has ended is no trouble.

    Raises: AgentUnknown, NotTheOwner, AgentSuspended, AccountHoldsUnits, CrossingPending, and the errors of `require_unbound`.
    """
    rules.require_owner(await store.find_owner_and_roles(tx, did), developer.id)
    if await store.lock_status(tx, did) == "suspended":
        raise AgentSuspended
    await require_unbound(tx, did)
    await retire(tx, did, by="owner")


async def end_itself(tx: Tx, did: str, require_unbound: RequireUnbound) -> None:
    """End the agent that asks.

    Raises: AgentSuspended, AgentRevoked, AccountHoldsUnits, CrossingPending, and the errors of `require_unbound`.
    """
    rules.require_active(await store.lock_status(tx, did) or "revoked")
    await require_unbound(tx, did)
    await retire(tx, did, by="agent")
