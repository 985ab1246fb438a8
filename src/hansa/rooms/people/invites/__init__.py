"""Invitations: codes that open registration, and may bring areas of administration with them."""

from .errors import InviteCodeUnknown
from .invite import Invitation, list_invites, make_invites, note_use, redeem, revoke_invite
from .routes import router
from .schemas import InviteInfo, InvitesIn, MadeInviteOut

__all__ = [
    "Invitation",
    "InviteCodeUnknown",
    "InviteInfo",
    "InvitesIn",
    "MadeInviteOut",
    "list_invites",
    "make_invites",
    "note_use",
    "redeem",
    "revoke_invite",
    "router",
]
