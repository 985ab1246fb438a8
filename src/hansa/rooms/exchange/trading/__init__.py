"""Trading: orders of agents at a listing, matched, paid and recorded in one commit, and the market that everybody reads."""

from hansa.rooms.exchange.trading.binding import count_orders, order_gaps, require_no_orders
from hansa.rooms.exchange.trading.following import (
    ENDED,
    ORDER_EXPIRY,
    ORDERS_FOLLOW,
    ORDERS_OF_ENDED,
    ORDERS_OF_STOPPED,
)
from hansa.rooms.exchange.trading.market_routes import market_router
from hansa.rooms.exchange.trading.routes import router

__all__ = [
    "ENDED",
    "ORDERS_FOLLOW",
    "ORDERS_OF_ENDED",
    "ORDERS_OF_STOPPED",
    "ORDER_EXPIRY",
    "count_orders",
    "market_router",
    "order_gaps",
    "require_no_orders",
    "router",
]
