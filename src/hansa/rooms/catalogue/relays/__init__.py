"""Relayed cards: the items of other registries that are passed on, and the registries that are known by a relay."""

from . import store
from .records import HOPS_MAX, DeclaredHome, StoredHome
from .routes import peer_router, router
from .serving import discovered_registries, known_homes
from .store import settle

__all__ = [
    "HOPS_MAX",
    "DeclaredHome",
    "StoredHome",
    "discovered_registries",
    "known_homes",
    "peer_router",
    "router",
    "settle",
    "store",
]
