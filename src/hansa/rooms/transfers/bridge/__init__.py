"""The bridge: units that are locked at their home registry and held wrapped at another one."""

from .channel import BRIDGE_OUTBOX
from .errors import AgentHoldsWrapped
from .inbox import end_with
from .reading import require_no_wrapped, wrapped_supply
from .routes import peer_router, router
from .store import is_settled
from .wrapped_store import WrappedSupply

__all__ = [
    "BRIDGE_OUTBOX",
    "AgentHoldsWrapped",
    "WrappedSupply",
    "end_with",
    "is_settled",
    "peer_router",
    "require_no_wrapped",
    "router",
    "wrapped_supply",
]
