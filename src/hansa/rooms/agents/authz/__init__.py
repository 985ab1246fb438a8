"""What an owner lets an agent do: its roles, and the policy that bounds what it pays."""

from hansa.rooms.agents.authz.routes import router

__all__ = ["router"]
