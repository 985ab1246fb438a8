"""Cards of the exchange: the stock card that the registry card signs, and the verified stock cards of peers."""

from hansa.rooms.exchange.cards.composing import (
    CLOSE_DAYS,
    MAKE_STOCK_CARD,
    STOCK_CARD,
    STOCK_CARD_KEY,
    make_stock_card,
)
from hansa.rooms.exchange.cards.routes import cards_router
from hansa.rooms.exchange.cards.venues import READ_VENUES, read_venues

__all__ = [
    "CLOSE_DAYS",
    "MAKE_STOCK_CARD",
    "READ_VENUES",
    "STOCK_CARD",
    "STOCK_CARD_KEY",
    "cards_router",
    "make_stock_card",
    "read_venues",
]
