"""Logs of agents: entries that agents and the registry write, for those who may read the agent."""

from .background import LOG_DAYS, LOG_SIZES, REGISTRY_ENTRIES
from .routes import router

__all__ = ["LOG_DAYS", "LOG_SIZES", "REGISTRY_ENTRIES", "router"]
