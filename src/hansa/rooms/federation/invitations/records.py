"""Invitations as they are stored."""

from datetime import datetime
from uuid import UUID

import msgspec


class OpenInvitation(msgspec.Struct, frozen=True):
    """An invitation that can be redeemed. `operator` is the name that it is for, None: another frame."""

    jti: UUID
    created_at: datetime
    expires_at: datetime
    operator: str | None


class Redeemer(msgspec.Struct, frozen=True):
    """Redeemer of an invitation: the key that signs, the address, the roots. A repeat bears the same three."""

    thumbprint: str
    public_url: str
    bundle_sha256: str


class Invitation(msgspec.Struct, frozen=True):
    """An invitation; `redeemer` is None before it was redeemed. `operator` is the name that it is for, None: another frame."""

    is_open: bool
    redeemer: Redeemer | None
    operator: str | None
