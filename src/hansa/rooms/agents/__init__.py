"""Agents: who they are, how they come to be, how they prove it."""

from hansa.rooms.agents.check import check_agent
from hansa.rooms.agents.routes import router

__all__ = ["check_agent", "router"]
