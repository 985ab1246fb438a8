"""A work order ends without an award: an admin cancels it, or its time passes. What was held is free in the same commit."""

from typing import Any
from uuid import UUID

from hansa.foundation.events import WorkOrderAwarded, WorkOrderBidLost, WorkOrderClosed
from hansa.foundation.plumbing.jobs import Job, TransactionalKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import journal, ledger, organizations

from . import judging, store
from .errors import WorkOrderNotOpen, WorkOrderUnknown
from .reading import shown
from .records import ShownOrder, WorkOrder

EXPIRY = "treasury: expire work orders"


async def lock_of(tx: Tx, organization: organizations.Organization, order_id: UUID) -> WorkOrder:
    """Lock a work order of a locked organization. Raises: WorkOrderUnknown."""
    order = await store.lock(tx, order_id)
    if order is None or order.organization_id != organization.id:
        raise WorkOrderUnknown
    return order


async def end(
    tx: Tx,
    order: WorkOrder,
    status: str,
    event: WorkOrderAwarded | WorkOrderClosed,
    contract_id: int | None = None,
) -> None:
    """End a locked work order, and notify the owner of each bid that loses by it. Raises: WorkOrderNotOpen."""
    lost = await store.end(tx, order.id, status, contract_id)
    if lost is None:
        raise WorkOrderNotOpen
    # One for each bid: no bidder may learn of the others.
    losses = [WorkOrderBidLost(str(order.id), str(bid_id), did, status.lower()) for bid_id, did in lost]
    await journal.append(tx, event, *losses)


async def cancel(tx: Tx, developer: Developer, key: str, order_id: UUID, settings: Settings) -> ShownOrder:
    """Cancel an open work order.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, WorkOrderUnknown, WorkOrderNotOpen.
    """
    organization = await organizations.lock_as_member(tx, key, developer.id, organizations.Role.ADMIN)
    order = await lock_of(tx, organization, order_id)
    judging.require_open(order)
    await _close(tx, order, "CANCELLED", settings)
    await organizations.record_act(tx, organization.id, developer, "work_order.cancel", str(order.id))
    found = await store.find(tx, order.id)
    assert found is not None
    return await shown(tx, found)


async def expire(tx: Tx, order_id: UUID, settings: Settings) -> None:
    """End a work order whose time has passed; any other is left alone."""
    order = await store.lock(tx, order_id)
    if order is not None and order.status == "OPEN" and order.state == "EXPIRED":
        await _close(tx, order, "EXPIRED", settings)


async def blockers_of(tx: Tx, organization: organizations.Organization) -> list[dict[str, Any]]:
    """Open work orders, which keep a locked organization from its end."""
    count = await store.count_open(tx, organization.id)
    if not count:
        return []
    detail = "Cancel its open work orders."
    did = organization.treasury_did
    return [{"kind": "work_order", "agent_did": did, "amount": str(count), "detail": detail}]


async def _close(tx: Tx, order: WorkOrder, status: str, settings: Settings) -> None:
    closed = WorkOrderClosed(str(order.id), order.treasury_did, status.lower())
    await end(tx, order, status, closed)
    await ledger.release_hold(tx, order.hold_id, ledger.Book.of(settings))


async def _run(tx: Tx, runtime: Runtime, job: Job) -> None:
    await expire(tx, UUID(job.key), runtime.settings)


WORK_ORDER_EXPIRIES = TransactionalKind(EXPIRY, _run)
