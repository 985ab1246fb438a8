"""The audit across registries: totals exchanged with peers, and what does not agree."""

from .exchange import compare_with_peers
from .routes import peer_router, router

__all__ = ["compare_with_peers", "peer_router", "router"]
