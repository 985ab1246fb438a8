"""The ways units move: so far, between two agents of this registry."""

from hansa.rooms.transfers.bulk import ApprovalRequired
from hansa.rooms.transfers.routes import router

__all__ = ["ApprovalRequired", "router"]
