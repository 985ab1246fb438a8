"""MCP servers: the catalogue as an MCP registry."""

from .routes import servers_router

__all__ = ["servers_router"]
