"""Transfers to and from agents of other registries, in the same unit or swapped into another."""

from .corridor import PAYMENT_DECIDED, Corridor, CrossingDecision
from .destination import (
    corridor_to,
    fee_of_peer,
    net_at_peer,
    raised_by_fee,
    require_reachable,
    require_receiver,
)
from .dropping import DROPPING, TOTALS_AGREED
from .ending import end_with
from .errors import (
    CROSSING_REFUSALS,
    PASSING_CODES,
    CurrencyDiffers,
    ReceiverIsForeign,
    ReceiverIsLocal,
    ReceiverRegistryUnknown,
    TransferUnknown,
    refusal_of,
)
from .high_water import HIGH_WATER, HIGH_WATER_TASK, HighWater
from .inputs import is_withheld_abroad
from .jobs_of_crossings import CROSSING_JOBS
from .messages import (
    CONTRACT,
    NOWHERE,
    PAYMENT_TOKEN,
    Message,
    Position,
    positions_at,
)
from .paying import (
    CrossingPayment,
    ask_to_prepare,
    find_payment,
    give_up_payment,
    movement_of,
    reserve_payment,
)
from .peer_routes import peer_router
from .reading import (
    UndecidedTransfer,
    find_crossing,
    is_settled_with,
    transactions_of,
    undecided_transfers,
)
from .received_store import PaymentReceived, payments_received
from .records import CrossingView
from .reopening import (
    PAIR_ENDED,
    PAIR_REOPENED,
    lock_chain,
    lock_chain_of_epochs,
    observe_in_chain,
    positions_in_chain,
    record_in_chain,
)
from .reserving import CrossingRequest
from .schemas import (
    CrossRegistryTransferIn,
    CrossRegistryTransferOut,
    CrossRegistryTransferState,
    MinAmountOut,
    QuoteId,
    bounds_of,
    not_compared,
)
from .send_queue import open_send_queues
from .totals_at_place import confirmed_between, place_of, unconfirmed_before
from .transferring import XREG_PERMISSION, across, asked_crossing, preview_crossing
from .writing import FULL_WEIGHT, SwappedTotals, counted_fee, swapped_totals, swapped_with

__all__ = [
    "CONTRACT",
    "CROSSING_JOBS",
    "CROSSING_REFUSALS",
    "DROPPING",
    "FULL_WEIGHT",
    "HIGH_WATER",
    "HIGH_WATER_TASK",
    "NOWHERE",
    "PAIR_ENDED",
    "PAIR_REOPENED",
    "PASSING_CODES",
    "PAYMENT_DECIDED",
    "PAYMENT_TOKEN",
    "TOTALS_AGREED",
    "XREG_PERMISSION",
    "Corridor",
    "CrossRegistryTransferIn",
    "CrossRegistryTransferOut",
    "CrossRegistryTransferState",
    "CrossingDecision",
    "CrossingPayment",
    "CrossingRequest",
    "CrossingView",
    "CurrencyDiffers",
    "HighWater",
    "Message",
    "MinAmountOut",
    "PaymentReceived",
    "Position",
    "QuoteId",
    "ReceiverIsForeign",
    "ReceiverIsLocal",
    "ReceiverRegistryUnknown",
    "SwappedTotals",
    "TransferUnknown",
    "UndecidedTransfer",
    "across",
    "ask_to_prepare",
    "asked_crossing",
    "bounds_of",
    "confirmed_between",
    "corridor_to",
    "counted_fee",
    "end_with",
    "fee_of_peer",
    "find_crossing",
    "find_payment",
    "give_up_payment",
    "is_settled_with",
    "is_withheld_abroad",
    "lock_chain",
    "lock_chain_of_epochs",
    "movement_of",
    "net_at_peer",
    "not_compared",
    "observe_in_chain",
    "open_send_queues",
    "payments_received",
    "peer_router",
    "place_of",
    "positions_at",
    "positions_in_chain",
    "preview_crossing",
    "raised_by_fee",
    "record_in_chain",
    "refusal_of",
    "require_reachable",
    "require_receiver",
    "reserve_payment",
    "swapped_totals",
    "swapped_with",
    "transactions_of",
    "unconfirmed_before",
    "undecided_transfers",
]
