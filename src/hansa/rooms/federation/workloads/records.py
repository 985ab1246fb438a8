"""A service's certificate, as it is kept: not the certificate itself, only which it is."""

from datetime import datetime
from typing import Literal

import msgspec


class ServiceCertificate(msgspec.Struct, frozen=True):
    """A certificate and how it stands."""

    name: str
    spiffe_id: str
    status: Literal["in force", "expired", "revoked"]
    issued_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


class FoundCertificate(msgspec.Struct, frozen=True):
    """Record of a certificate that a client presents, at the database's time `now`."""

    now: datetime
    spiffe_id: str | None
    """Whom it was issued to, while it is in force."""
