"""Invitations: by which two registries become peers in two commands."""

from .accepting import AcceptedOut, accept
from .inviting import LIFETIME_MAX_SECONDS, LIFETIME_MIN_SECONDS, SignedInvitation, invite
from .routes import invitations_admin_router, invitations_router

__all__ = [
    "LIFETIME_MAX_SECONDS",
    "LIFETIME_MIN_SECONDS",
    "AcceptedOut",
    "SignedInvitation",
    "accept",
    "invitations_admin_router",
    "invitations_router",
    "invite",
]
