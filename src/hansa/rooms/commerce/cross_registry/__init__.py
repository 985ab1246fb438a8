"""Contracts of which one party is an agent of another registry; the contract is kept at the contractor's."""

from .acting import ACCEPTANCES_ABROAD
from .peer_routes import router as peer_router
from .routes import router

__all__ = ["ACCEPTANCES_ABROAD", "peer_router", "router"]
