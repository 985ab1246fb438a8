"""Contracts and disputes of a treasury, on which admins act."""

from hansa.rooms.treasury.agreements.routes import router

__all__ = ["router"]
