"""Agentic Resource Discovery v0.91: the manifest of this domain, and its agents listed, found, counted and read."""

from .routes import api_router, root_router

__all__ = ["api_router", "root_router"]
