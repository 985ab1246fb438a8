"""Rules of workload identities, without I/O."""

from datetime import datetime, timedelta

import msgspec

SVID_LIFETIME = timedelta(minutes=30)
SPIRE_LIFETIME = timedelta(days=1)
"""For how long a disabled identity stays on the list of revoked ones where SPIRE issues the certificates, whose ends are not known
here."""


class Enrolment(msgspec.Struct, frozen=True):
    """An agent's workload identity as it stands."""

    spiffe_id: str
    status: str
    enrolled_at: datetime
    issued_at: datetime
    expires_at: datetime
    ended_at: datetime | None


class EndedIdentity(msgspec.Struct, frozen=True):
    """An identity that is trusted no longer."""

    spiffe_id: str
    revoked_at: datetime


def spiffe_id_of(trust_domain: str, did: str) -> str:
    """The SPIFFE id of an agent: a path segment has no room for colons."""
    return f"spiffe://{trust_domain}/agent/{did.replace(':', '-')}"
