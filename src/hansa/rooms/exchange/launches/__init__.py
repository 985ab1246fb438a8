"""Launches: points are sold once at one fixed price, pro rata where more is subscribed than there is."""

from hansa.rooms.exchange.launches.closing import CLOSE_LAUNCHES, end_launch
from hansa.rooms.exchange.launches.errors import AgentHoldsPoints
from hansa.rooms.exchange.launches.following import CANCEL_SUBSCRIPTIONS, SUBSCRIPTIONS_FOLLOW
from hansa.rooms.exchange.launches.opening import OPEN_LAUNCHES, OPENING
from hansa.rooms.exchange.launches.records import Subscription
from hansa.rooms.exchange.launches.routes import router
from hansa.rooms.exchange.launches.settling import SETTLE_LAUNCHES
from hansa.rooms.exchange.launches.store import hold_gaps
from hansa.rooms.exchange.launches.subscribing import newest_of

__all__ = [
    "CANCEL_SUBSCRIPTIONS",
    "CLOSE_LAUNCHES",
    "OPENING",
    "OPEN_LAUNCHES",
    "SETTLE_LAUNCHES",
    "SUBSCRIPTIONS_FOLLOW",
    "AgentHoldsPoints",
    "Subscription",
    "end_launch",
    "hold_gaps",
    "newest_of",
    "router",
]
