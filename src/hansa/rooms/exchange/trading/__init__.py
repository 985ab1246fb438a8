"""Trading: orders of agents at a listing, matched, paid and recorded in one commit, and the market that everybody reads."""

from hansa.rooms.exchange.trading.acting import PERMISSION, place
from hansa.rooms.exchange.trading.binding import count_orders, lock_gaps, order_gaps, require_no_orders
from hansa.rooms.exchange.trading.counting import COUNT_TRADES, count_all
from hansa.rooms.exchange.trading.following import (
    ENDED,
    ORDER_EXPIRY,
    ORDERS_FOLLOW,
    ORDERS_OF_ENDED,
    ORDERS_OF_STOPPED,
)
from hansa.rooms.exchange.trading.market import (
    SPANS,
    Timeframe,
    portfolio_of,
    read_book,
    read_candles,
    read_day,
    read_holders,
    read_resting,
    read_trades,
)
from hansa.rooms.exchange.trading.market_routes import market_router
from hansa.rooms.exchange.trading.reading_store import Candle, Depth, Held, Level
from hansa.rooms.exchange.trading.records import OWNER_KIND, Order, ShownOrder
from hansa.rooms.exchange.trading.routes import router
from hansa.rooms.exchange.trading.schemas import OrderIn

__all__ = [
    "COUNT_TRADES",
    "ENDED",
    "ORDERS_FOLLOW",
    "ORDERS_OF_ENDED",
    "ORDERS_OF_STOPPED",
    "ORDER_EXPIRY",
    "OWNER_KIND",
    "PERMISSION",
    "SPANS",
    "Candle",
    "Depth",
    "Held",
    "Level",
    "Order",
    "OrderIn",
    "ShownOrder",
    "Timeframe",
    "count_all",
    "count_orders",
    "lock_gaps",
    "market_router",
    "order_gaps",
    "place",
    "portfolio_of",
    "read_book",
    "read_candles",
    "read_day",
    "read_holders",
    "read_resting",
    "read_trades",
    "require_no_orders",
    "router",
]
