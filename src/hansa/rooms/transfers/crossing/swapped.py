"""Swaps among transfers: the pool of a corridor, and the effect of each step of a transfer on it."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.transfers import pools

from .corridor import Corridor
from .states import Money


async def pool_at_work(tx: Tx, corridor: Corridor) -> pools.PoolAtWork | None:
    """The pool shared with the peer, locked, if there is one."""
    try:
        return await pools.PoolAtWork.locked(tx, corridor.key, corridor.settings)
    except pools.PoolUnknown:
        return None


def step_of_swap(money: Money) -> tuple[pools.SwapStep, pools.Amounts]:
    """Return the step and the amounts of a swap's money, for its pool."""
    swap = money.body.swap
    assert swap is not None
    received = money.net or swap.amount_out or 0
    amounts = pools.Amounts(money.body.amount, received, money.fee, swap.amount_out is not None)
    return pools.SwapStep(money.kind.value), amounts


async def move_in_pool(tx: Tx, corridor: Corridor, money: Sequence[Money]) -> None:
    """The figures of the pool follow these steps. They are locked before the budgets and the accounts of the ledger."""
    swapped = [one for one in money if one.body.swap is not None]
    if swapped:
        at_work = await pools.PoolAtWork.locked(tx, corridor.key, corridor.settings)
        for one in swapped:
            at_work.move(*step_of_swap(one))
        await at_work.write(tx)
