"""Transfers to and from agents of other registries, in the same unit or swapped into another."""

from .destination import corridor_to, fee_of_peer, is_foreign, peer_of, require_receiver
from .errors import CROSSING_REFUSALS, ReceiverIsForeign, ReceiverIsLocal, TransferUnknown
from .exchange import SIGNATORY
from .in_doubt import UndecidedTransfer, is_settled_with, undecided_transfers
from .jobs_of_crossings import CROSSING_JOBS
from .peer_routes import peer_router
from .reading import find_crossing
from .records import CrossingView
from .schemas import (
    CrossRegistryTransferIn,
    CrossRegistryTransferOut,
    CrossRegistryTransferState,
    MinAmountOut,
    QuoteId,
    bounds_of,
    not_compared,
)
from .transferring import XREG_PERMISSION, AskedCrossing, across, asked_crossing, preview_crossing

__all__ = [
    "CROSSING_JOBS",
    "CROSSING_REFUSALS",
    "SIGNATORY",
    "XREG_PERMISSION",
    "AskedCrossing",
    "CrossRegistryTransferIn",
    "CrossRegistryTransferOut",
    "CrossRegistryTransferState",
    "CrossingView",
    "MinAmountOut",
    "QuoteId",
    "ReceiverIsForeign",
    "ReceiverIsLocal",
    "TransferUnknown",
    "UndecidedTransfer",
    "across",
    "asked_crossing",
    "bounds_of",
    "corridor_to",
    "fee_of_peer",
    "find_crossing",
    "is_foreign",
    "is_settled_with",
    "not_compared",
    "peer_of",
    "peer_router",
    "preview_crossing",
    "require_receiver",
    "undecided_transfers",
]
