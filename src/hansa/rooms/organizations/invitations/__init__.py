"""Invitations: a token that is sent by mail alone makes its receiver a member."""

from hansa.rooms.organizations.invitations.routes import answering_router, router

__all__ = ["answering_router", "router"]
