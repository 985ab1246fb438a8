"""Teams: members with a right at some agents of the organization."""

from hansa.rooms.organizations.teams.routes import router

__all__ = ["router"]
