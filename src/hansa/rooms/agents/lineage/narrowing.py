"""Rights of children within those of their parents, whenever an owner changes either.

Locks: the agents from a parent down, each before its policy.
"""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.agents.spending import SpendPolicy, policy_of, put_policy

from . import rules, store
from .store import LockedAgent


async def require_within_parent(tx: Tx, did: str, roles: Sequence[str] | None) -> None:
    """A locked agent may get the roles: it is no living child, or its parent has them. Raises: ChildEnding, RolesNotHeld."""
    parent = await _parent_of(tx, did)
    if parent is not None and roles is not None:
        rules.require_roles(parent.roles, roles)


async def require_policy_within_parent(tx: Tx, did: str, policy: SpendPolicy | None) -> None:
    """A locked agent may get the policy: it is no living child, or no member is wider than that of its parent. Raises: ChildEnding, PolicyWidened."""
    parent = await _parent_of(tx, did)
    if parent is not None:
        of_parent, _ = await policy_of(tx, parent.did)
        rules.require_narrower(of_parent, policy)


async def narrow_below(tx: Tx, did: str) -> None:
    """Narrow the rights of the living below an agent, whose rights have changed in this transaction, to those of their parents."""
    pending = [did]
    while pending:
        parent_did = pending.pop()
        children = await store.living_children(tx, [parent_did])
        if not children:
            continue
        parent = await store.lock_agent(tx, parent_did)
        assert parent is not None
        of_parent, _ = await policy_of(tx, parent_did)
        for child_did in children:
            await _narrow(tx, child_did, parent.roles, of_parent)
        pending += children


async def _narrow(tx: Tx, did: str, roles: Sequence[str], of_parent: SpendPolicy | None) -> None:
    child = await store.lock_agent(tx, did)
    assert child is not None
    if lost := [role for role in child.roles if role not in roles]:
        await store.write_roles(tx, did, [role for role in child.roles if role not in lost])
    policy, _ = await policy_of(tx, did)
    narrowed = rules.within(of_parent, policy)
    if narrowed != policy:
        await put_policy(tx, did, narrowed)


async def _parent_of(tx: Tx, did: str) -> LockedAgent | None:
    """The parent of a living child; None for any other agent. Raises: ChildEnding."""
    place = await store.place_of(tx, did)
    child = (await store.living_among(tx, [did])).get(did)
    if child is None:
        return None
    rules.require_living(place)
    return await store.read_agent(tx, child.parent_did)
