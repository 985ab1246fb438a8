"""An agent's roles, as its owner reads and widens them. They count from the agent's next request on."""

from hansa.foundation.plumbing.caller import Developer
from hansa.foundation.plumbing.database import Tx

from . import rules, store
from .errors import AgentRevokedForGood


async def grant_role(tx: Tx, developer: Developer, did: str, role: str) -> tuple[str, ...]:
    """Give an own agent a role and return all it holds; a role it holds already is no trouble.

    Raises: AgentUnknown, NotTheOwner, AgentRevokedForGood.
    """
    rules.require_owner(await store.find_standing(tx, did), developer.id)
    roles = await store.add_role(tx, did, role)
    if roles is None:
        raise AgentRevokedForGood
    return roles


async def roles_of(tx: Tx, developer: Developer, did: str) -> tuple[str, ...]:
    """The roles of an own agent. Raises: AgentUnknown."""
    return rules.require_own(await store.find_standing(tx, did), developer.id).roles
