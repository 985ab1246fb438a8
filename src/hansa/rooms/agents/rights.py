"""Rights of developers at agents: every act of a developer on an agent is judged here."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.rights import Right

from . import rules, store
from .rules import HeldAgent


async def held_with(tx: Tx, developer_id: int, did: str, right: Right) -> HeldAgent:
    """The agent, at which the developer has the right. Raises: AgentUnknown, NotTheOwner."""
    return rules.require_right(await store.find_held(tx, developer_id, did), right)


async def seen_with(tx: Tx, developer_id: int, did: str, right: Right) -> HeldAgent:
    """The same for what is secret: an agent of another owner has the answer of an unknown one. Raises: AgentUnknown."""
    return rules.require_seen(await store.find_held(tx, developer_id, did), right)


async def right_at(tx: Tx, developer_id: int, did: str) -> Right | None:
    """The right of the developer at the agent; None where there is none, or no such agent."""
    found = await store.find_held(tx, developer_id, did)
    return found.right if found else None
