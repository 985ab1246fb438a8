"""Work orders as everybody reads them. The status of the contract is read from the contract."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms import commerce, organizations

from . import board_store, store
from .errors import WorkOrderUnknown
from .records import BoardFilter, ShownOrder, WorkOrder


async def board(tx: Tx, wanted: BoardFilter) -> tuple[list[ShownOrder], int, bool]:
    """A page of the board, the newest first, the number of its orders, and whether that is exact."""
    found, total, is_exact = await board_store.page(tx, wanted)
    return await all_shown(tx, found), total, is_exact


async def orders_of_organization(tx: Tx, organization_id: UUID, *, limit: int) -> list[ShownOrder]:
    """The newest work orders of an organization, in any state."""
    return await all_shown(tx, await store.orders_of(tx, organization_id, limit))


async def read_order(tx: Tx, order_id: UUID) -> ShownOrder:
    """One work order. Raises: WorkOrderUnknown."""
    order = await store.find(tx, order_id)
    if order is None:
        raise WorkOrderUnknown
    return await shown(tx, order)


async def shown(tx: Tx, order: WorkOrder) -> ShownOrder:
    """The work order with its organization and the status of its contract."""
    (found,) = await all_shown(tx, [order])
    return found


async def all_shown(tx: Tx, orders: Sequence[WorkOrder]) -> list[ShownOrder]:
    """The work orders with their organizations and the status of their contracts."""
    names, contracts = await read_together(
        tx,
        lambda tx: organizations.names_of(tx, {order.organization_id for order in orders}),
        lambda tx: commerce.contract_statuses(
            tx, [order.contract_id for order in orders if order.contract_id is not None]
        ),
    )
    return [
        ShownOrder(
            order,
            *names[order.organization_id],
            contract_status=contracts.get(order.contract_id) if order.contract_id is not None else None,
        )
        for order in orders
    ]
