"""Every statement on invitations. Whether one is open the database's clock decides."""

from datetime import datetime, timedelta
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

from .records import Invitation, OpenInvitation, Redeemer

_ADD = """
INSERT INTO federation_invitation (jti, expires_at, operator_name)
VALUES ($1, date_trunc('second', clock_timestamp() + $2::interval), $3) RETURNING expires_at
"""

_READ = """
SELECT expires_at > clock_timestamp() AS is_open, redeemer_thumbprint AS thumbprint,
  redeemer_public_url AS public_url, redeemer_bundle_sha256 AS bundle_sha256, operator_name
FROM federation_invitation WHERE jti = $1
"""

_REDEEM = """
UPDATE federation_invitation SET redeemed_at = clock_timestamp(), redeemer_thumbprint = $2, redeemer_public_url = $3,
  redeemer_bundle_sha256 = $4
WHERE jti = $1 AND redeemed_at IS NULL AND expires_at > clock_timestamp()
"""


_OPEN = """
SELECT jti, created_at, expires_at, operator_name AS operator FROM federation_invitation
WHERE redeemed_at IS NULL AND expires_at > clock_timestamp() ORDER BY created_at DESC, jti LIMIT $1
"""

_REVOKE = """
DELETE FROM federation_invitation WHERE jti = $1 AND redeemed_at IS NULL AND expires_at > clock_timestamp()
"""


async def add(tx: Tx, jti: UUID, lifetime: timedelta, operator: str | None) -> datetime:
    """Write an invitation; returns its end."""
    expires_at: datetime = await tx.fetchval(_ADD, jti, lifetime, operator)
    return expires_at


async def open_invitations(tx: Tx, most: int) -> list[OpenInvitation]:
    """The newest invitations that can be redeemed."""
    return [OpenInvitation(**row) for row in await tx.fetch(_OPEN, most)]


async def revoke(tx: Tx, jti: UUID) -> bool:
    """Delete an open invitation; whether it was open until now."""
    return await tx.execute(_REVOKE, jti) == "DELETE 1"


async def read(tx: Tx, jti: UUID) -> Invitation | None:
    """The invitation with this id."""
    row = await tx.fetchrow(_READ, jti)
    if row is None:
        return None
    members = (row["thumbprint"], row["public_url"], row["bundle_sha256"])
    redeemer = None if members[0] is None else Redeemer(*members)
    return Invitation(row["is_open"] and redeemer is None, redeemer, row["operator_name"])


async def redeem(tx: Tx, jti: UUID, redeemer: Redeemer) -> bool:
    """Redeem an open invitation; whether it was open until now."""
    members = (redeemer.thumbprint, redeemer.public_url, redeemer.bundle_sha256)
    return await tx.execute(_REDEEM, jti, *members) == "UPDATE 1"
