"""Rights that an owner gives an agent: its roles, and the policy that bounds its payments."""

from hansa.rooms.agents.authz.routes import router

__all__ = ["router"]
