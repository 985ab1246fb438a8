"""Carry out appointments whose notice has ended, one in each transaction. Of a job that ends halfway nothing is done."""

from hansa.foundation.plumbing.jobs import sweep_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms.organizations import audit, membership
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.records import Actor

from . import store
from .acts import CREDENTIAL
from .judging import require_appointable

EVERY_SECONDS = 30


async def carry_out_due(tx: Tx) -> None:
    """Make the developer of the oldest due appointment an owner, or end it where its conditions hold no longer."""
    due = await store.oldest_due(tx)
    if due is None:
        return
    organization = await organizations.find(tx, due.organization_id, None, lock=True)
    assert organization is not None
    actor, target = Actor(due.administrator_id, CREDENTIAL), f"developer:{due.developer_id}"
    try:
        await require_appointable(tx, organization, due.developer_id)
    except Refused as refusal:
        if await store.end(tx, due.id, "LAPSED"):
            await audit.record(
                tx, organization.id, actor, "owner.appointment.lapse", target, reason=refusal.code
            )
        return
    if await store.end(tx, due.id, "EXECUTED"):
        await membership.make_owner(tx, actor, organization, due.developer_id)


CARRYING_OUT = sweep_of("organizations: appoint owners", EVERY_SECONDS, store.HAS_DUE, carry_out_due)
