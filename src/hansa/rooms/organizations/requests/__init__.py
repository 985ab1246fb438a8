"""Requests: changes that others of the organization approve before they are carried out."""

from hansa.rooms.organizations.requests.routes import router

__all__ = ["router"]
