"""Acts of an owner on a card."""

from hansa.rooms.catalogue.owning.ownership import LOCK_AGENT
from hansa.rooms.catalogue.owning.routes import router

__all__ = ["LOCK_AGENT", "router"]
