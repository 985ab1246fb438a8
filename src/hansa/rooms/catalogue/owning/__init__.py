"""What an owner does with a card."""

from hansa.rooms.catalogue.owning.ownership import Ownership
from hansa.rooms.catalogue.owning.routes import router

__all__ = ["Ownership", "router"]
