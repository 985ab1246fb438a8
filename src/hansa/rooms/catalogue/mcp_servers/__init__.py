"""MCP servers: the catalogue as an MCP registry."""

from .import_routes import import_router
from .routes import servers_router

__all__ = ["import_router", "servers_router"]
