"""Agents of an organization."""

from hansa.rooms.organizations.fleet.routes import router

__all__ = ["router"]
