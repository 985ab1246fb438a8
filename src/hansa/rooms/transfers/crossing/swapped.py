"""Swaps among transfers: what the pool says of a message, and how its figures follow each step."""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Refused
from hansa.rooms.transfers import pools

from .messages import Message, MessageType
from .states import Money


async def price_of_swap(
    tx: Tx, peer: str, message: Message, settings: Settings
) -> tuple[int, int, str | None]:
    """The output, its fee, and why it is refused, of a swap that enters. Only a PREPARE is priced."""
    body = message.body
    assert body is not None
    assert body.swap is not None
    if message.type is not MessageType.PREPARE:
        return message.net or 0, message.fee or 0, None
    swap = body.swap
    fixed = None if swap.amount_out is None else (swap.amount_out, message.fee or 0)
    try:
        price = await pools.price_received(
            tx, peer, body.amount, swap.min_amount_out, fixed, settings=settings
        )
    except pools.SwapImpossible as impossible:
        return 0, 0, impossible.code.value
    except Refused as refusal:
        return 0, 0, refusal.code
    return price.amount_out, price.fee, None


async def swap_is_accepted(tx: Tx, peer: str, message: Message) -> bool:
    """Whether what the receiver's registry promises lowers no product of the reserves here; always so without a swap."""
    body = message.body
    assert body is not None
    return body.swap is None or await pools.accepts(tx, peer, body.amount, message.net or 0)


async def move_in_pool(tx: Tx, peer: str, money: Money) -> None:
    """The figures of the pool follow a step. They are locked before the accounts of the ledger."""
    swap = money.body.swap
    assert swap is not None
    is_fixed = swap.amount_out is not None
    received = money.net or swap.amount_out or 0
    amounts = pools.Amounts(money.body.amount, received, money.fee, is_fixed)
    await pools.move(tx, peer, pools.SwapStep(money.kind.value), amounts)
