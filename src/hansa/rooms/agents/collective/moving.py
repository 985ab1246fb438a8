"""Move an agent between a developer and an organization.

Its secret is replaced by one that nobody has read, so that every token of before ends, act tokens included. Its capabilities are revoked
and its wallets unbound. Locks: the roots of its capabilities, then the agent.
"""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.rights import Right
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import catalogue
from hansa.rooms.agents import credentials
from hansa.rooms.agents.errors import AgentRevokedForGood, AgentSuspended, AgentUnknown, NotTheOwner
from hansa.rooms.agents.lineage import require_apart
from hansa.rooms.agents.rights import held_with
from hansa.rooms.agents.status import RequireUnbound

from . import store


async def move_to_organization(
    tx: Tx, did: str, developer_id: int, organization_id: UUID, require_unbound: RequireUnbound
) -> None:
    """Give an own agent to an organization.

    Raises: AgentUnknown, NotTheOwner, AgentSuspended, AgentRevokedForGood, AgentHasChildren, and the errors of `require_unbound`.
    """
    await held_with(tx, developer_id, did, Right.END)
    await store.lock_capabilities(tx, did)
    found = await store.lock_for_move(tx, did)
    if found.developer_id != developer_id or found.organization_id is not None:
        raise NotTheOwner
    await _require_movable(tx, did, found, require_unbound)
    await _move(tx, did, organization_id, developer_id)


async def move_to_developer(
    tx: Tx, did: str, organization_id: UUID, developer_id: int, require_unbound: RequireUnbound
) -> None:
    """Give an agent of an organization to a developer; its account is empty.

    Raises: AgentUnknown, AgentSuspended, AgentRevokedForGood, AgentHasChildren, and the errors of `require_unbound`.
    """
    await store.lock_capabilities(tx, did)
    found = await store.lock_for_move(tx, did)
    if found.organization_id != organization_id or found.kind != "agent":
        raise AgentUnknown
    await _require_movable(tx, did, found, require_unbound)
    await _move(tx, did, None, developer_id)


async def _require_movable(tx: Tx, did: str, found: store.Movable, require_unbound: RequireUnbound) -> None:
    if found.status == "suspended":
        raise AgentSuspended
    if found.status == "revoked":
        raise AgentRevokedForGood("This agent is permanently revoked; it cannot be moved.")
    await require_apart(tx, did)
    await require_unbound(tx, did)


async def _move(tx: Tx, did: str, organization_id: UUID | None, developer_id: int) -> None:
    await store.revoke_capabilities(tx, did)
    await store.forget_wallets(tx, did)
    secret = fingerprint(credentials.new_client_secret())
    await store.write_owner(tx, did, organization_id, developer_id, secret)
    await catalogue.set_organization(tx, did, organization_id, developer_id)
