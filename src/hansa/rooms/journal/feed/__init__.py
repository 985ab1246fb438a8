"""The live feed: journal events sent to sockets as they are committed."""

from .bearer import OWNED_AMONG
from .live_feed import LIVE_FEED, LiveFeed
from .public_stream import StreamFilter, event_stream
from .routes import root_router, router
from .store import HAS_EXPIRED_TICKET, Place, forget_tickets

__all__ = [
    "HAS_EXPIRED_TICKET",
    "LIVE_FEED",
    "OWNED_AMONG",
    "LiveFeed",
    "Place",
    "StreamFilter",
    "event_stream",
    "forget_tickets",
    "root_router",
    "router",
]
