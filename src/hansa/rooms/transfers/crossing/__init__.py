"""Transfers to and from agents of other registries, in the same unit."""

from .destination import corridor_to, fee_of_peer, is_foreign, peer_of, require_receiver
from .errors import CROSSING_REFUSALS, ReceiverIsForeign, ReceiverIsLocal, TransferUnknown
from .exchange import SIGNATORY
from .high_water import HIGH_WATER, HIGH_WATER_TASK, HighWater
from .in_doubt import UndecidedTransfer, is_settled_with, undecided_transfers
from .jobs_of_crossings import CROSSING_JOBS
from .outbox import OUTBOX, Outbox, open_outbox
from .peer_routes import peer_router
from .reading import find_crossing
from .records import CrossingView
from .reserving import AskedCrossing
from .schemas import CrossRegistryTransferIn, CrossRegistryTransferOut, CrossRegistryTransferState
from .transferring import XREG_PERMISSION, across, asked_crossing, preview_crossing

__all__ = [
    "CROSSING_JOBS",
    "CROSSING_REFUSALS",
    "HIGH_WATER",
    "HIGH_WATER_TASK",
    "OUTBOX",
    "SIGNATORY",
    "XREG_PERMISSION",
    "AskedCrossing",
    "CrossRegistryTransferIn",
    "CrossRegistryTransferOut",
    "CrossRegistryTransferState",
    "CrossingView",
    "HighWater",
    "Outbox",
    "ReceiverIsForeign",
    "ReceiverIsLocal",
    "TransferUnknown",
    "UndecidedTransfer",
    "across",
    "asked_crossing",
    "corridor_to",
    "fee_of_peer",
    "find_crossing",
    "is_foreign",
    "is_settled_with",
    "open_outbox",
    "peer_of",
    "peer_router",
    "preview_crossing",
    "require_receiver",
    "undecided_transfers",
]
