"""Owners who act as one of their agents."""

from hansa.rooms.agents.acting.act import ACT_TOKENS, act_token
from hansa.rooms.agents.acting.routes import router

__all__ = ["ACT_TOKENS", "act_token", "router"]
