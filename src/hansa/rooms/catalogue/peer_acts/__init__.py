"""Acts of enforcement across registries: hints, receipts, and which peers are late."""

from .hints import HINTS, NOTICES
from .receipts import send_receipts
from .routes import peer_router, router
from .store import forget_receipted, peers_to_receipt

__all__ = [
    "HINTS",
    "NOTICES",
    "forget_receipted",
    "peer_router",
    "peers_to_receipt",
    "router",
    "send_receipts",
]
