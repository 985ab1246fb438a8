"""How strangers find the agents of this registry: the documents that other systems look for at an address."""

from .json_ld import agent_json_ld
from .resource_discovery import api_router as resource_discovery_router
from .resource_discovery import root_router as manifest_router
from .routes import router as well_known_router
from .store import CARD_STATE, others_state

__all__ = [
    "CARD_STATE",
    "agent_json_ld",
    "manifest_router",
    "others_state",
    "resource_discovery_router",
    "well_known_router",
]
