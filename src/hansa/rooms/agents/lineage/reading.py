"""Children as their owners, their parents and rooms above read them."""

from collections.abc import Collection, Sequence

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .errors import AgentHasChildren, ChildEnding, ChildUnknown
from .rules import Child
from .store import LivingChild


async def child_of(tx: Tx, did: str) -> Child:
    """A child in any state; takes no lock. Raises: ChildUnknown."""
    found = await store.find_child(tx, did)
    if found is None:
        raise ChildUnknown
    return found


async def lock_child(tx: Tx, did: str) -> Child:
    """A child in any state. Its parent and then itself are locked until the transaction ends. Raises: ChildUnknown."""
    parent_did = (await child_of(tx, did)).parent_did
    await store.lock_agent(tx, parent_did)
    await store.lock_agent(tx, did)
    return await child_of(tx, did)


async def children_of(tx: Tx, did: str, after: str | None = None, *, limit: int) -> list[Child]:
    """Children of an agent in every state under the names of their creation, newest first, those after this one. Raises: ChildUnknown."""
    last = None if after is None else await child_of(tx, after)
    return await store.children(tx, did, last, limit)


async def living_children_of(tx: Tx, dids: Collection[str]) -> list[str]:
    """The living children of these agents, in the order of their DIDs."""
    return await store.living_children(tx, dids) if dids else []


async def living_among(tx: Tx, dids: Sequence[str]) -> dict[str, LivingChild]:
    """Those of the agents that are living children, with depth and parent."""
    return await store.living_among(tx, dids)


async def ancestors_of(tx: Tx, did: str) -> dict[str, tuple[str, ...]]:
    """The agents above a living child, with their roles; none above another agent."""
    return await store.ancestors(tx, did)


async def ending_among(tx: Tx, dids: Collection[str]) -> frozenset[str]:
    """Those of the agents that are children whose end has begun."""
    return await store.ending_among(tx, dids)


async def require_not_ending(tx: Tx, did: str) -> None:
    """The agent, which the caller has locked, is no child that is ending: it may bind itself. Raises: ChildEnding."""
    if await store.ending_among(tx, [did]):
        raise ChildEnding


async def has_suspended_parent(tx: Tx, did: str) -> bool:
    """Return whether the agent is a living child whose parent is suspended."""
    return await store.has_suspended_parent(tx, did)


async def require_no_children(tx: Tx, did: str) -> None:
    """The agent, which the caller has locked, has no living children. Raises: AgentHasChildren."""
    if living := await store.living_children(tx, [did]):
        raise AgentHasChildren(context={"living_children": len(living)})


async def require_apart(tx: Tx, did: str) -> None:
    """The agent, which the caller has locked, is no living child and has none. Raises: AgentHasChildren."""
    await require_no_children(tx, did)
    if await store.living_among(tx, [did]):
        raise AgentHasChildren("The agent is a living child, which stays with the owner of its parent.")
