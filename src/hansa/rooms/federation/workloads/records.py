"""A service's certificate, as it is kept: not the certificate itself, only which it is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True)
class ServiceCertificate:
    """A certificate and how it stands."""

    name: str
    spiffe_id: str
    status: Literal["in force", "expired", "revoked"]
    issued_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True)
class FoundCertificate:
    """What is known of a certificate that somebody shows, at the database's time `now`."""

    now: datetime
    spiffe_id: str | None
    """Whom it was issued to, while it is in force."""
