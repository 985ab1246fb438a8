"""Offer work: the amount and its fee are held in the treasury from this commit on."""

from uuid import uuid4

from hansa.foundation.events import WorkOrderOpened
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import format_amount
from hansa.rooms import journal, ledger, organizations
from hansa.rooms.treasury.counting import require_no_arrears

from . import judging, store
from .ending import EXPIRY
from .reading import shown
from .records import NewWorkOrder, OpenedOrder, ShownOrder


async def open_order(
    tx: Tx, developer: Developer, key: str, new: NewWorkOrder, runtime: Runtime
) -> ShownOrder:
    """Offer work of an organization to every agent.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, InArrears, Invalid, LimitReached, InsufficientBalance, AccountSuspended.
    """
    organization = await organizations.lock_as_member(tx, key, developer.id, organizations.Role.ADMIN)
    await require_no_arrears(tx, organization, runtime)
    judging.require_sound(new, await clock.now(tx))
    open_ones = await store.count_open(tx, organization.id)
    organizations.require_room(open_ones, judging.OPEN_MAX, "open work orders of an organization")
    order_id, treasury = uuid4(), organization.treasury_did
    held_for = ledger.NewHold(store.HOLD_KIND, str(order_id))
    held = await ledger.open_hold(
        tx, ledger.HoldOrder(treasury, new.amount, held_for), ledger.Book.of(runtime.settings)
    )
    assert held.hold_id is not None
    opened = OpenedOrder(
        order_id, organization.id, treasury, developer.id, held.hold_id, judging.BINDING, new
    )
    order = await store.insert(tx, opened)
    await enqueue(tx, EXPIRY, str(order.id), due_at=order.expires_at)
    await organizations.record_act(tx, organization.id, developer, "work_order.open", str(order.id))
    await journal.append(
        tx,
        WorkOrderOpened(
            str(order.id), treasury, order.title, format_amount(order.amount), order.bids_until.isoformat()
        ),
    )
    return await shown(tx, order)
