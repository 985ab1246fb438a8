"""Terms of a transfer that leaves: the border fee of the peer, or the terms of a swap."""

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms import ledger
from hansa.rooms.transfers import pools

from . import sender
from .corridor import Corridor
from .destination import fee_of_peer
from .messages import Body, Message, Swap
from .records import Bounds
from .states import Money, MoneyKind, Sent, SentState
from .swapped import step_of_swap


class OutTerms(msgspec.Struct, frozen=True):
    """Amounts in minor units. `fee` is the border fee, or that of a swap as far as this registry fixes it.

    `net` is the amount for the receiver, of a swap the amount at the present price.
    """

    net: Minor
    fee: Minor
    estimated_fee: Minor
    swap: Swap | None = None
    at_work: pools.PoolAtWork | None = None

    async def reserve(self, tx: Tx, body: Body) -> None:
        """Let the pool know of the swap. Nothing is done without one."""
        if self.at_work is not None:
            self.move(self.at_work, body)
            await self.at_work.write(tx)

    def move(self, at_work: pools.PoolAtWork, body: Body) -> None:
        """Let the swaps that are priced after this one see it pending; the pool is not written."""
        money = Money(MoneyKind.RESERVE_OUT, body, (body.swap and body.swap.amount_out) or 0, self.fee)
        at_work.move(*step_of_swap(money))


async def swap_terms(tx: Tx, corridor: Corridor, order: ledger.TransferOrder, bounds: Bounds) -> OutTerms:
    """The terms of a transfer. A pool is locked from here on.

    Raises: NotASwap, PoolUnknown, the refusals of swaps and quotes.
    """
    if corridor.currency_received is None:
        if bounds.are_stated:
            raise pools.NotASwap
        fee = fee_of_peer(corridor.peer, order.amount)
        return OutTerms(Minor(order.amount - fee), fee, fee)
    at_work = await pools.PoolAtWork.locked(tx, corridor.key, corridor.settings)
    return await priced(tx, corridor, at_work, order, bounds)


async def priced(
    tx: Tx, corridor: Corridor, at_work: pools.PoolAtWork, order: ledger.TransferOrder, bounds: Bounds
) -> OutTerms:
    """The terms of a swap by a pool that is locked. Raises: the refusals of swaps and quotes."""
    assert corridor.currency_received is not None
    declared = pools.Least(order.payer, bounds.min_amount_out, bounds.quote_id)
    try:
        terms = await pools.price_sent(tx, at_work, order.amount, declared)
    except pools.SwapImpossible as impossible:
        raise pools.REFUSAL_OF[impossible.code] from None
    swap = Swap(
        corridor.currency_received,
        terms.least,
        None if terms.fixed is None else terms.fixed.amount_out,
        None if bounds.quote_id is None else str(bounds.quote_id),
    )
    fee = ZERO if terms.fixed is None else terms.fixed.fee
    return OutTerms(terms.estimate.amount_out, fee, terms.estimate.fee, swap, at_work)


def prepare_of(body: Body, fee: int) -> Message:
    """Return the request to the receiver's registry for a transfer that is reserved."""
    (prepare,) = sender.outstanding(Sent(body, SentState.RESERVED, expected_fee=fee))
    return prepare
