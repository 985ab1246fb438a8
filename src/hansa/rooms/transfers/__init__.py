from hansa.rooms.transfers.bridge import (
    BRIDGE_JOBS,
    AgentHoldsWrapped,
    WrappedSupply,
    require_no_wrapped,
    wrapped_supply,
)
from hansa.rooms.transfers.bulk import ApprovalRequired
from hansa.rooms.transfers.crossing import (
    CROSSING_JOBS,
    CROSSING_REFUSALS,
    PAYMENT_DECIDED,
    Corridor,
    CrossingDecision,
    CrossingPayment,
    CrossingView,
    UndecidedTransfer,
    ask_to_prepare,
    corridor_to,
    find_payment,
    is_foreign,
    namespace_of,
    net_at_peer,
    peer_of,
    raised_by_fee,
    reserve_payment,
    undecided_transfers,
)
from hansa.rooms.transfers.descriptor import ROOM
from hansa.rooms.transfers.pools import FEE_PCT as SWAP_FEE_PCT
from hansa.rooms.transfers.pools import Minute as PoolMinute
from hansa.rooms.transfers.pools import PoolState, decimal_text, swapped_amounts
from hansa.rooms.transfers.pools import history as pool_history
from hansa.rooms.transfers.pools import states as pool_states

__all__ = [
    "BRIDGE_JOBS",
    "CROSSING_JOBS",
    "CROSSING_REFUSALS",
    "PAYMENT_DECIDED",
    "ROOM",
    "SWAP_FEE_PCT",
    "AgentHoldsWrapped",
    "ApprovalRequired",
    "Corridor",
    "CrossingDecision",
    "CrossingPayment",
    "CrossingView",
    "PoolMinute",
    "PoolState",
    "UndecidedTransfer",
    "WrappedSupply",
    "ask_to_prepare",
    "corridor_to",
    "decimal_text",
    "find_payment",
    "is_foreign",
    "namespace_of",
    "net_at_peer",
    "peer_of",
    "pool_history",
    "pool_states",
    "raised_by_fee",
    "require_no_wrapped",
    "reserve_payment",
    "swapped_amounts",
    "undecided_transfers",
    "wrapped_supply",
]
