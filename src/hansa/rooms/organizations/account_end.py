"""End of a developer's memberships with the account. The only owner of an organization does not end."""

from hansa.foundation.plumbing.room import AccountEnd, Blocker
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import people

from . import store
from .invitations import store as invitations
from .membership import apply_change
from .records import Actor
from .requests import store as requests

CREDENTIAL = "account-deletion"


async def _blockers(tx: Tx, developer_id: int) -> list[Blocker]:
    detail = "Make another member an owner, or delete the organization."
    return [
        Blocker("organization", one.treasury_did, "1", f"{one.slug}: {detail}")
        for one in await store.sole_ownerships(tx, developer_id)
    ]


async def _end(tx: Tx, developer_id: int) -> None:
    """Raises: LastOwner."""
    for organization_id in await store.organization_ids_of(tx, developer_id):
        organization = await store.find(tx, organization_id, developer_id, lock=True)
        assert organization is not None
        await apply_change(tx, Actor(developer_id, CREDENTIAL), organization, developer_id, None)


async def _erase(tx: Tx, developer_id: int) -> None:
    address = await people.address_of(tx, developer_id)
    await invitations.forget_address(tx, address)
    await requests.forget_address(tx, address)


ACCOUNT_END_OF_MEMBERSHIPS = AccountEnd(end=_end, erase=_erase, beside_agents=_blockers)
