"""The bridge: units that are locked at their home registry and held wrapped at another one."""

from .channel import BRIDGE_OUTBOX
from .errors import AgentHoldsWrapped
from .inbox import end_with
from .reading import SagaView, find_saga, parties_of, require_no_wrapped, sagas_of, wrapped_supply
from .routes import peer_router, router
from .store import is_settled
from .wrapped_store import WrappedSupply, held_by

__all__ = [
    "BRIDGE_OUTBOX",
    "AgentHoldsWrapped",
    "SagaView",
    "WrappedSupply",
    "end_with",
    "find_saga",
    "held_by",
    "is_settled",
    "parties_of",
    "peer_router",
    "require_no_wrapped",
    "router",
    "sagas_of",
    "wrapped_supply",
]
