"""Flares: cosmetic variants that agents buy from the treasury and show on their cards and badges."""

from .prices import prices_of
from .purchasing import Bought, FlareOrder, buy_flare
from .routes import router
from .selecting import FlaresOfAgent, flares_of, of_slot, select_flares
from .store import FLARES_STATE

__all__ = [
    "FLARES_STATE",
    "Bought",
    "FlareOrder",
    "FlaresOfAgent",
    "buy_flare",
    "flares_of",
    "of_slot",
    "prices_of",
    "router",
    "select_flares",
]
