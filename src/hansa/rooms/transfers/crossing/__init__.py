"""Transfers to and from agents of other registries, in the same unit."""

from .corridor import Corridor, namespace_of
from .destination import (
    corridor_to,
    fee_of_peer,
    is_foreign,
    net_at_peer,
    peer_of,
    raised_by_fee,
    require_receiver,
)
from .errors import CROSSING_REFUSALS, ReceiverIsForeign, ReceiverIsLocal, TransferUnknown
from .exchange import SIGNATORY
from .in_doubt import UndecidedTransfer, is_settled_with, undecided_transfers
from .jobs_of_crossings import CROSSING_JOBS
from .outbox import OUTBOX, Outbox, open_outbox
from .paying import CrossingPayment, ask_to_prepare, find_payment, reserve_payment
from .payment_slot import PAYMENT_DECIDED, CrossingDecision
from .peer_routes import peer_router
from .reading import find_crossing
from .records import CrossingView
from .reserving import AskedCrossing
from .schemas import CrossRegistryTransferIn, CrossRegistryTransferOut, CrossRegistryTransferState
from .transferring import XREG_PERMISSION, across, asked_crossing, preview_crossing

__all__ = [
    "CROSSING_JOBS",
    "CROSSING_REFUSALS",
    "OUTBOX",
    "PAYMENT_DECIDED",
    "SIGNATORY",
    "XREG_PERMISSION",
    "AskedCrossing",
    "Corridor",
    "CrossRegistryTransferIn",
    "CrossRegistryTransferOut",
    "CrossRegistryTransferState",
    "CrossingDecision",
    "CrossingPayment",
    "CrossingView",
    "Outbox",
    "ReceiverIsForeign",
    "ReceiverIsLocal",
    "TransferUnknown",
    "UndecidedTransfer",
    "across",
    "ask_to_prepare",
    "asked_crossing",
    "corridor_to",
    "fee_of_peer",
    "find_crossing",
    "find_payment",
    "is_foreign",
    "is_settled_with",
    "namespace_of",
    "net_at_peer",
    "open_outbox",
    "peer_of",
    "peer_router",
    "preview_crossing",
    "raised_by_fee",
    "require_receiver",
    "reserve_payment",
    "undecided_transfers",
]
