"""Owners who act as one of their agents."""

from hansa.rooms.agents.acting.routes import router

__all__ = ["router"]
