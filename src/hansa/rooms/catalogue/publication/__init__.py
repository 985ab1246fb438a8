"""How strangers find the agents of this registry: the documents that other systems look for at an address."""

from .json_ld import agent_json_ld
from .resource_discovery import api_router as resource_discovery_router
from .resource_discovery import root_router as manifest_router
from .routes import router as well_known_router

__all__ = ["agent_json_ld", "manifest_router", "resource_discovery_router", "well_known_router"]
