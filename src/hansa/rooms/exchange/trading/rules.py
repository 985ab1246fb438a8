"""Rules of orders, without I/O."""

from hansa.foundation.values.money import AMOUNT_MAX_UNITS, UNIT, ZERO, Minor, format_amount
from hansa.rooms.exchange.matching import Book, Refused, Traded, collar_of
from hansa.rooms.exchange.records import Listing
from hansa.rooms.exchange.rules import wrong_state

from .errors import (
    ClientOrderIdUsed,
    InsufficientPoints,
    ListingHalted,
    OrderEnded,
    OrderTermsInvalid,
    PostOnly,
    TooManyOrders,
)
from .records import NewOrder, Order

OPEN_MAX = 200
"""Open orders of an agent at a listing."""
TTL_MAX_SECONDS = 90 * 24 * 3600
NOTIONAL_MAX = AMOUNT_MAX_UNITS * UNIT


def require_trading(listing: Listing) -> None:
    """Raises: ListingHalted, ListingState."""
    if listing.status == "HALTED":
        raise ListingHalted(context={"state": listing.status})
    has_ended = listing.ends_at is not None and listing.ends_at <= listing.now
    if listing.status != "TRADING" or has_ended:
        raise wrong_state(listing)


def require_terms(new: NewOrder, tick: Minor) -> None:
    """Raises: OrderTermsInvalid, naming the member."""
    if new.price is None:
        if new.time_in_force != "ioc":
            raise OrderTermsInvalid("A market order is `ioc`.", field="time_in_force")
    elif new.price % tick:
        raise OrderTermsInvalid(
            f"price must be a multiple of {format_amount(tick)}.",
            context={"tick": format_amount(tick)},
            field="price",
        )
    elif new.price * new.qty > NOTIONAL_MAX:
        raise OrderTermsInvalid(f"price times qty must be at most {AMOUNT_MAX_UNITS}.", field="qty")
    if new.time_in_force != "gtc" and (new.post_only or new.ttl_seconds is not None):
        field = "post_only" if new.post_only else "ttl_seconds"
        raise OrderTermsInvalid(f"{field} is for orders that rest (`gtc`).", field=field)


def require_same(known: Order, new: NewOrder) -> None:
    """Raises: ClientOrderIdUsed."""
    if known.digest != new.digest:
        raise ClientOrderIdUsed(context={"order_id": str(known.id)})


def require_room(count: int) -> None:
    """Raises: TooManyOrders."""
    if count >= OPEN_MAX:
        raise TooManyOrders(f"The agent has {OPEN_MAX} open orders at this listing.")


def require_points(free: int, freed: int, qty: int) -> None:
    """`freed` are the points of the order that is replaced. Raises: InsufficientPoints."""
    available = free + freed
    if available < qty:
        raise InsufficientPoints(context={"available": available, "required": qty})


def require_open(order: Order) -> None:
    """Raises: OrderEnded."""
    if order.ended_because is not None:
        raise ended(order)


def ended(order: Order) -> OrderEnded:
    """The refusal of an act on an order that has ended."""
    return OrderEnded(
        f"The order has ended ({order.ended_because}).",
        context={"state": order.status, "ended_because": order.ended_because},
    )


def refusal_of(refused: Refused) -> PostOnly | OrderEnded:
    """The refusal of a command that changed nothing."""
    if refused.because == "post_only":
        return PostOnly()
    return OrderEnded("The order that this one replaces does not rest any more; nothing was placed.")


def most_to_pay(new: NewOrder, book: Book) -> Minor:
    """Amount that a buy can cost: at its price, or of a market order at the last price that it takes. Raises: OrderTermsInvalid."""
    price = new.price
    if price is None:
        best = next(book.sells.best_first(), None)
        if best is None:
            return ZERO
        price = Minor(collar_of(best))
        if price * new.qty > NOTIONAL_MAX:
            raise OrderTermsInvalid(f"The order could cost more than {AMOUNT_MAX_UNITS}.", field="qty")
    return Minor(new.qty * price)


def amount_of(trade: Traded) -> Minor:
    """The amount of a trade, the fee of the seller included."""
    return Minor(trade.price * trade.qty)
