"""Audit across registries: totals exchanged with peers, and their differences."""

from .exchange import compare_with_peers
from .routes import peer_router, router
from .store import agreed_at

__all__ = ["agreed_at", "compare_with_peers", "peer_router", "router"]
