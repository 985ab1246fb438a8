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
    UndecidedTransfer,
    namespace_of,
    peer_of,
    undecided_transfers,
)
from hansa.rooms.transfers.descriptor import ROOM

__all__ = [
    "BRIDGE_JOBS",
    "CROSSING_JOBS",
    "ROOM",
    "AgentHoldsWrapped",
    "ApprovalRequired",
    "UndecidedTransfer",
    "WrappedSupply",
    "namespace_of",
    "peer_of",
    "require_no_wrapped",
    "undecided_transfers",
    "wrapped_supply",
]
