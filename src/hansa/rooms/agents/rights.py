"""Rights of developers at agents: every act of a developer on an agent is judged here.

An act on an agent of an organization holds the membership of the developer until the transaction ends.
"""

from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.rights import Right

from . import rules, store
from .errors import AgentUnknown
from .rules import HeldAgent


async def held_with(tx: Tx, developer_id: int, did: str, right: Right) -> HeldAgent:
    """The agent, at which the developer has the right. Raises: AgentUnknown, NotTheOwner."""
    return rules.require_right(await _held(tx, developer_id, did, right), right)


async def seen_with(tx: Tx, developer_id: int, did: str, right: Right) -> HeldAgent:
    """The same for what is secret: an agent of another owner has the answer of an unknown one. Raises: AgentUnknown."""
    return rules.require_seen(await _held(tx, developer_id, did, right), right)


async def require_caller(tx: Tx, caller: Developer | Agent, did: str, right: Right) -> None:
    """The caller is the agent, or a developer with the right at it. Raises: AgentUnknown, OrgRoleRequired."""
    if isinstance(caller, Developer):
        await seen_with(tx, caller.id, did, right)
    elif caller.did != did:
        raise AgentUnknown


async def right_at(tx: Tx, developer_id: int, did: str) -> Right | None:
    """The right of the developer at the agent; None where there is none, or no such agent."""
    found = await store.find_held(tx, developer_id, did)
    return found.right if found else None


async def held_right_at(tx: Tx, developer_id: int, did: str) -> Right | None:
    """The same for an act: a membership that gives the right stays as it is until the transaction ends."""
    found = await _held(tx, developer_id, did, Right.OPERATE)
    return found.right if found else None


async def _held(tx: Tx, developer_id: int, did: str, right: Right) -> HeldAgent | None:
    found = await store.find_held(tx, developer_id, did)
    if found is None or right is Right.READ or not found.is_collective:
        return found
    return replace(found, right=await store.hold_right(tx, developer_id, did))
