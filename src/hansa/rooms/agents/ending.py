"""An agent ends by its own word or its owner's. A suspended one does not: it would escape what it is suspended for."""

from hansa.foundation.plumbing.caller import Developer
from hansa.foundation.plumbing.database import Tx

from . import rules, store
from .errors import AgentSuspended
from .status import retire


async def end_own_agent(tx: Tx, developer: Developer, did: str) -> None:
    """End an own agent for good; one that has ended is no trouble.

    Raises: AgentUnknown, NotTheOwner, AgentSuspended, AccountHoldsUnits.
    """
    rules.require_owner(await store.find_owner_and_roles(tx, did), developer.id)
    if await store.lock_status(tx, did) == "suspended":
        raise AgentSuspended
    await retire(tx, did, by="owner")


async def end_itself(tx: Tx, did: str) -> None:
    """End the agent that asks. Raises: AgentSuspended, AgentRevoked, AccountHoldsUnits."""
    rules.require_active(await store.lock_status(tx, did) or "revoked")
    await retire(tx, did, by="agent")
