"""Flares: cosmetic variants that agents buy from the treasury and show on their cards and badges."""

from .prices import prices_of
from .routes import router
from .selecting import flares_of, of_slot

__all__ = ["flares_of", "of_slot", "prices_of", "router"]
