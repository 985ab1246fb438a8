"""Documents that identify an agent to other systems: its DID document and its description."""

from hansa.rooms.agents.documents.routes import root_router, router

__all__ = ["root_router", "router"]
