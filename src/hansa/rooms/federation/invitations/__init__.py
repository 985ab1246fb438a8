"""Invitations: by which two registries become peers in two commands."""

from .accepting import (
    AcceptedOut,
    CardCheck,
    Preview,
    accept,
    admit_inviter,
    meet_inviter,
    preview,
    redeem_there,
)
from .inviting import (
    LIFETIME_MAX_SECONDS,
    LIFETIME_MIN_SECONDS,
    SignedInvitation,
    invite,
    new_invitation,
    open_invitations,
    revoke_invitation,
    sign_invitation,
)
from .routes import invitations_admin_router, invitations_router
from .schemas import AcceptIn, InvitationIn, OpenInvitationOut, OpenInvitationsOut

__all__ = [
    "LIFETIME_MAX_SECONDS",
    "LIFETIME_MIN_SECONDS",
    "AcceptIn",
    "AcceptedOut",
    "CardCheck",
    "InvitationIn",
    "OpenInvitationOut",
    "OpenInvitationsOut",
    "Preview",
    "SignedInvitation",
    "accept",
    "admit_inviter",
    "invitations_admin_router",
    "invitations_router",
    "invite",
    "meet_inviter",
    "new_invitation",
    "open_invitations",
    "preview",
    "redeem_there",
    "revoke_invitation",
    "sign_invitation",
]
