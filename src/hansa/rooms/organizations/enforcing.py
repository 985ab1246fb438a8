"""Suspension of an organization, which the room above decides and carries out on its agents."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents

from . import reading, store
from .errors import OrganizationUnknown
from .records import Organization


async def lock_for_enforcement(tx: Tx, key: str) -> tuple[Organization, list[str]]:
    """An organization that is not deleted, locked until the transaction ends, and the DIDs of its treasury and its agents.

    Raises: OrganizationUnknown.
    """
    found = await store.find(tx, reading.as_key(key), None, lock=True)
    if found is None or found.status == "deleted":
        raise OrganizationUnknown
    owned = await agents.of_organization(tx, found.id)
    return found, [found.treasury_did, *(agent.did for agent in owned)]


async def suspend(tx: Tx, organization: Organization) -> None:
    """Suspend a locked organization: nothing of it is changed until it is reinstated, but members may leave."""
    await store.set_status(tx, organization.id, "suspended")


async def reinstate(tx: Tx, organization: Organization) -> None:
    """Let a locked organization be changed again."""
    await store.set_status(tx, organization.id, "active")
