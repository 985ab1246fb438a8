"""Relayed cards: what is passed on of other registries, and the registries that are known by a relay."""

from . import store
from .records import HOPS_MAX, KeptHome, StatedHome
from .routes import peer_router, router
from .store import homes, settle

__all__ = ["HOPS_MAX", "KeptHome", "StatedHome", "homes", "peer_router", "router", "settle", "store"]
