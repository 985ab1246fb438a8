"""Open orders bind their agent until they end, and have holds and locked points."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .errors import AgentHasOrders


async def require_no_orders(tx: Tx, dids: Sequence[str]) -> None:
    """Require that no order binds these agents, which the caller has locked. Raises: AgentHasOrders."""
    if counts := await count_orders(tx, dids):
        raise AgentHasOrders(context={"open_orders": sum(counts.values())})


async def count_orders(tx: Tx, dids: Sequence[str]) -> dict[str, int]:
    """How many open orders these agents have; those without are absent."""
    return await store.counts_of_open(tx, dids)


async def order_gaps(tx: Tx, most: int) -> list[str]:
    """Open buys without a hold of exactly what they still buy, and holds without an order."""
    return await store.hold_gaps(tx, most)


async def lock_gaps(tx: Tx, most: int) -> list[str]:
    """Holdings that lock other points than their open sells."""
    return await store.lock_gaps(tx, most)
