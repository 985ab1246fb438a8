"""Events of orders and trades. Orders are private; trades, the points that they move, and the levels of the book are public."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hansa.foundation.events import (
    BookChanged,
    BookLevel,
    Event,
    OrderEnded,
    OrderPlaced,
    PointsMoved,
    TradeExecuted,
)
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms.exchange.matching import Ended
from hansa.rooms.exchange.records import Listing

from .records import Order, Trade


def book_changed(
    listing: Listing, after: int, seq: int, before: Iterable[Order], now: Iterable[Order]
) -> BookChanged:
    """The change of the levels by one transaction: orders as they were before it, and the same and new ones after it. It names no order."""
    points, orders = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for sign, states in ((-1, before), (1, now)):
        for order in states:
            if order.ended_because is None and order.price is not None:
                level = (order.side, order.price)
                points[level] += sign * order.remaining
                orders[level] += sign
    changes = [
        BookLevel(side, format_amount(Minor(price)), qty, orders[side, price])
        for (side, price), qty in points.items()
        if qty or orders[side, price]
    ]
    return BookChanged(listing.ref, listing.treasury_did, after, seq, changes)


def order_placed(order: Order, replaces: int | None) -> OrderPlaced:
    """The order as it came, so that a replay of the journal decides it again."""
    return OrderPlaced(
        order.agent_did,
        order_id=str(order.id),
        ref=order.ref,
        seq=order.seq,
        owner=order.owner,
        side=order.side,
        qty=order.qty,
        price=None if order.price is None else format_amount(order.price),
        time_in_force=order.time_in_force,
        post_only=order.post_only,
        replaces=replaces,
    )


def order_ended(order: Order, ended: Ended) -> OrderEnded:
    """The end of an order, under the number of the command or the trade that ended it."""
    return OrderEnded(
        order.agent_did,
        order_id=str(order.id),
        ref=order.ref,
        seq=ended.seq,
        order_seq=order.seq,
        remaining=ended.remaining,
        because=ended.because,
    )


def trades_executed(listing: Listing, trades: Sequence[Trade]) -> Iterator[Event]:
    """Each trade, and the points that it moved."""
    for trade in trades:
        yield TradeExecuted(
            listing.ref,
            listing.treasury_did,
            trade_id=trade.id,
            seq=trade.seq,
            price=format_amount(trade.price),
            qty=trade.qty,
            taker_side=trade.taker_side,
            buyer=trade.buyer,
            seller=trade.seller,
            fee=format_amount(trade.fee),
            tx_id=trade.tx_id,
        )
        yield PointsMoved(
            listing.ref,
            listing.treasury_did,
            seq=trade.seq,
            cause="trade",
            from_=trade.seller,
            to=trade.buyer,
            qty=trade.qty,
        )
