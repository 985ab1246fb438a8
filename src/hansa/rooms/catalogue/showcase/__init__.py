"""Showcase: agents of this registry that anybody may call, pinned by administrators or found by the search index."""

from .pinning import PINS_MAX, Pin, pin_agents, pins
from .reading import ShowcaseItem, read_showcase
from .routes import router
from .schemas import PinsIn, ShowcaseOut

__all__ = [
    "PINS_MAX",
    "Pin",
    "PinsIn",
    "ShowcaseItem",
    "ShowcaseOut",
    "pin_agents",
    "pins",
    "read_showcase",
    "router",
]
