"""Cards of the exchange: the stock card that the registry card signs, and the verified stock cards of peers."""

from hansa.rooms.exchange.cards.composing import (
    CLOSE_DAYS,
    MAKE_STOCK_CARD,
    STOCK_CARD,
    STOCK_CARD_KEY,
    make_stock_card,
    newest_stock_card,
)
from hansa.rooms.exchange.cards.routes import cards_router
from hansa.rooms.exchange.cards.schemas import (
    StockCardOut,
    StockCloseOut,
    StockListingOut,
    VenueOut,
)
from hansa.rooms.exchange.cards.venues import READ_VENUES, read_venues, venues_shown

__all__ = [
    "CLOSE_DAYS",
    "MAKE_STOCK_CARD",
    "READ_VENUES",
    "STOCK_CARD",
    "STOCK_CARD_KEY",
    "StockCardOut",
    "StockCloseOut",
    "StockListingOut",
    "VenueOut",
    "cards_router",
    "make_stock_card",
    "newest_stock_card",
    "read_venues",
    "venues_shown",
]
