"""Members of an organization: their roles, and how they leave."""

from hansa.rooms.organizations.members.routes import router

__all__ = ["router"]
