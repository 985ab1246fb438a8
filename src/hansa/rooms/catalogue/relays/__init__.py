"""Relayed cards: the items of other registries that are passed on, and the registries that are known by a relay."""

from . import store
from .records import HOPS_MAX, KeptHome, StatedHome
from .routes import peer_router, router
from .serving import discovered_registries, known_homes
from .store import settle

__all__ = [
    "HOPS_MAX",
    "KeptHome",
    "StatedHome",
    "discovered_registries",
    "known_homes",
    "peer_router",
    "router",
    "settle",
    "store",
]
