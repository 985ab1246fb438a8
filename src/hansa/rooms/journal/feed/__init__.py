"""The live feed: journal events told to sockets as they are committed."""

from .live_feed import LiveFeed
from .routes import root_router, router
from .store import forget_tickets

__all__ = ["LiveFeed", "forget_tickets", "root_router", "router"]
