"""Exchange: organizations sell points, rights to a share of their revenue for a term."""

from hansa.rooms.exchange.auditing import gaps, solvency
from hansa.rooms.exchange.cards import (
    StockCardOut,
    StockCloseOut,
    StockListingOut,
    VenueOut,
    newest_stock_card,
    venues_shown,
)
from hansa.rooms.exchange.deciding import approve, delist, halt, reject, resume
from hansa.rooms.exchange.descriptor import ROOM
from hansa.rooms.exchange.launches import Subscription, newest_of
from hansa.rooms.exchange.reading import (
    read_any,
    read_in_states,
    read_listing,
    read_of_organization,
    read_page,
)
from hansa.rooms.exchange.records import ShownListing
from hansa.rooms.exchange.revenue import LeviedDay, newest_levies
from hansa.rooms.exchange.schemas import ListingReasonIn, RefInPath
from hansa.rooms.exchange.trading import (
    OWNER_KIND,
    PERMISSION,
    SPANS,
    Candle,
    Depth,
    Held,
    Level,
    Order,
    OrderIn,
    ShownOrder,
    Timeframe,
    place,
    portfolio_of,
    read_book,
    read_candles,
    read_day,
    read_holders,
    read_resting,
    read_trades,
)

__all__ = [
    "OWNER_KIND",
    "PERMISSION",
    "ROOM",
    "SPANS",
    "Candle",
    "Depth",
    "Held",
    "Level",
    "LeviedDay",
    "ListingReasonIn",
    "Order",
    "OrderIn",
    "RefInPath",
    "ShownListing",
    "ShownOrder",
    "StockCardOut",
    "StockCloseOut",
    "StockListingOut",
    "Subscription",
    "Timeframe",
    "VenueOut",
    "approve",
    "delist",
    "gaps",
    "halt",
    "newest_levies",
    "newest_of",
    "newest_stock_card",
    "place",
    "portfolio_of",
    "read_any",
    "read_book",
    "read_candles",
    "read_day",
    "read_holders",
    "read_in_states",
    "read_listing",
    "read_of_organization",
    "read_page",
    "read_resting",
    "read_trades",
    "reject",
    "resume",
    "solvency",
    "venues_shown",
]
