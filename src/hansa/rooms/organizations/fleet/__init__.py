"""Agents of an organization."""

from hansa.rooms.organizations.fleet.creating import CREATION
from hansa.rooms.organizations.fleet.routes import router

__all__ = ["CREATION", "router"]
