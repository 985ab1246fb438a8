"""Invitations: codes that open registration, and may bring areas of administration with them."""

from .errors import InviteCodeUnknown
from .redeem import Invitation, note_use, redeem
from .routes import router

__all__ = ["Invitation", "InviteCodeUnknown", "note_use", "redeem", "router"]
