"""An agent's rights, as its owner reads and changes them. They count from the agent's next request on."""

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import Minor
from hansa.foundation.values.rights import Right
from hansa.rooms.agents.errors import AgentRevokedForGood
from hansa.rooms.agents.lineage import narrow_below, require_policy_within_parent, require_within_parent
from hansa.rooms.agents.rights import held_with, seen_with
from hansa.rooms.agents.spending import SpendPolicy, policy_of, put_policy, widens

from . import store

WIDENING_SCOPE = "agents:secrets"


class Authz(msgspec.Struct, frozen=True):
    """Roles of an agent, the policy of its payments, and the amount it paid today (UTC) under a policy."""

    roles: tuple[str, ...]
    policy: SpendPolicy | None
    spent_today: Minor | None


class NewAuthz(msgspec.Struct, frozen=True):
    """Replacement by an owner: roles that are None stay, and so does a policy unless `sets_policy`."""

    roles: tuple[str, ...] | None
    policy: SpendPolicy | None
    sets_policy: bool


async def grant_role(tx: Tx, developer: Developer, did: str, role: str) -> tuple[str, ...]:
    """Give an own agent a role and return all it holds; a role it holds already is no trouble.

    Raises: AgentUnknown, NotTheOwner, AgentRevokedForGood, ChildEnding, RolesNotHeld.
    """
    await held_with(tx, developer.id, did, Right.MANAGE)
    if await store.lock_roles(tx, did) is None:
        raise AgentRevokedForGood
    await require_within_parent(tx, did, [role])
    roles = await store.add_role(tx, did, role)
    if roles is None:
        raise AgentRevokedForGood
    return roles


async def authz_of(tx: Tx, developer: Developer, did: str) -> Authz:
    """The rights of an own agent. Raises: AgentUnknown."""
    roles = (await seen_with(tx, developer.id, did, Right.READ)).roles
    policy, spent_today = await policy_of(tx, did)
    return Authz(roles, policy, spent_today)


async def replace_authz(tx: Tx, developer: Developer, did: str, new: NewAuthz) -> Authz:
    """Replace the roles and the spend policy of an own agent.

    The rights of its living children are narrowed with it.

    Raises: AgentUnknown, NotTheOwner, AgentRevokedForGood, ChildEnding, RolesNotHeld, PolicyWidened, ScopeMissing for a replacement that widens.
    """
    await held_with(tx, developer.id, did, Right.MANAGE)
    # The row of the agent is locked first: two replacements at once do not mix, and the comparison stays true.
    held = await store.lock_roles(tx, did)
    if held is None:
        raise AgentRevokedForGood
    policy, _ = await policy_of(tx, did)
    gains_role = new.roles is not None and not set(new.roles) <= set(held)
    if gains_role or (new.sets_policy and widens(policy, new.policy)):
        developer.require(WIDENING_SCOPE)
    await require_within_parent(tx, did, new.roles)
    if new.roles is not None:
        await store.replace_roles(tx, did, new.roles)
    if new.sets_policy:
        await require_policy_within_parent(tx, did, new.policy)
        await put_policy(tx, did, new.policy)
    await narrow_below(tx, did)
    return await authz_of(tx, developer, did)
