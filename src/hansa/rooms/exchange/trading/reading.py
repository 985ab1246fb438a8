"""Orders as their agents read them."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

from . import reading_store as store
from .errors import OrderUnknown
from .records import Order, OrderStatus, ShownOrder


async def all_shown(tx: Tx, orders: Sequence[Order]) -> list[ShownOrder]:
    """Orders with their trades."""
    trades = defaultdict(list)
    for trade in await store.trades_of(tx, orders):
        for seq in (trade.taker_seq, trade.maker_seq):
            trades[trade.ref, seq].append(trade)
    return [ShownOrder(order, trades[order.ref, order.seq]) for order in orders]


async def read_order(tx: Tx, agent_did: str, order_id: UUID) -> ShownOrder:
    """One order of an agent. Raises: OrderUnknown."""
    order = await store.own(tx, agent_did, order_id)
    if order is None:
        raise OrderUnknown
    (found,) = await all_shown(tx, [order])
    return found


async def read_ref(tx: Tx, agent_did: str, order_id: UUID) -> str:
    """The listing of an order of an agent, by one statement. Raises: OrderUnknown."""
    order = await store.own(tx, agent_did, order_id)
    if order is None:
        raise OrderUnknown
    return order.ref


async def read_own(
    tx: Tx,
    agent_did: str,
    *,
    ref: str | None,
    status: OrderStatus | None,
    after: UUID | None,
    limit: int,
) -> list[ShownOrder]:
    """Orders of an agent, newest first, those after this one."""
    return await all_shown(
        tx, await store.own_page(tx, agent_did, ref=ref, status=status, after=after, limit=limit)
    )
