"""Transfers to and from agents of other registries, in the same unit."""

from .destination import corridor_to, fee_of_peer, is_foreign, peer_of, require_receiver
from .errors import ReceiverIsForeign
from .exchange import SIGNATORY
from .in_doubt import UndecidedTransfer, undecided_transfers
from .jobs_of_crossings import CROSSING_JOBS
from .peer_routes import peer_router
from .routes import CROSSING_REFUSALS, across, asked_crossing, crossing_router
from .transferring import AskedCrossing, preview_crossing

__all__ = [
    "CROSSING_JOBS",
    "CROSSING_REFUSALS",
    "SIGNATORY",
    "AskedCrossing",
    "ReceiverIsForeign",
    "UndecidedTransfer",
    "across",
    "asked_crossing",
    "corridor_to",
    "crossing_router",
    "fee_of_peer",
    "is_foreign",
    "peer_of",
    "peer_router",
    "preview_crossing",
    "require_receiver",
    "undecided_transfers",
]
