"""Every statement on the certificates of services. Whether one is in force the database's clock decides."""

from datetime import datetime, timedelta

from hansa.foundation.plumbing.storage.database import Tx

from .records import FoundCertificate, ServiceCertificate

_ADD = """
INSERT INTO federation_service_certificate (fingerprint, name, spiffe_id, issued_at, expires_at)
VALUES ($1, $2, $3, $4, $4::timestamptz + $5::interval)
"""

_LIST = """
SELECT name, spiffe_id, issued_at, expires_at, revoked_at, CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
  WHEN expires_at <= clock_timestamp() THEN 'expired' ELSE 'in force' END AS status
FROM federation_service_certificate ORDER BY name, issued_at
"""

_REVOKE = """
UPDATE federation_service_certificate SET revoked_at = clock_timestamp()
WHERE name = $1 AND revoked_at IS NULL AND expires_at > clock_timestamp()
"""

_FIRST_TO_END = """
SELECT issued_at, expires_at FROM (
  SELECT DISTINCT ON (name) issued_at, expires_at FROM federation_service_certificate
  WHERE revoked_at IS NULL ORDER BY name, expires_at DESC
) AS newest WHERE expires_at > clock_timestamp() - interval '7 days' ORDER BY expires_at LIMIT 1
"""

_FIND_PRESENTED = """
SELECT clock_timestamp() AS now, (
  SELECT spiffe_id FROM federation_service_certificate
  WHERE fingerprint = $1 AND revoked_at IS NULL AND expires_at > clock_timestamp()
) AS spiffe_id
"""


async def add(
    tx: Tx, fingerprint: bytes, *, name: str, spiffe_id: str, issued_at: datetime, lifetime: timedelta
) -> None:
    """Write that the certificate was issued."""
    await tx.execute(_ADD, fingerprint, name, spiffe_id, issued_at, lifetime)


async def certificates(tx: Tx) -> list[ServiceCertificate]:
    """Every certificate, by name and then by age."""
    return [ServiceCertificate(**row) for row in await tx.fetch(_LIST)]


async def first_to_end(tx: Tx) -> tuple[datetime, datetime] | None:
    """Time of issue and end of the certificate that ends first, of the newest of each service; None without one.

    A certificate that ended more than a week ago is left out: its service is no longer used.
    """
    row = await tx.fetchrow(_FIRST_TO_END)
    return None if row is None else (row["issued_at"], row["expires_at"])


async def revoke(tx: Tx, name: str) -> int:
    """Revoke the certificates of a service that are in force; returns how many."""
    done: str = await tx.execute(_REVOKE, name)
    return int(done.removeprefix("UPDATE "))


async def find_presented(tx: Tx, fingerprint: bytes) -> FoundCertificate:
    """Return the record of the certificate with this fingerprint."""
    row = await tx.fetchrow(_FIND_PRESENTED, fingerprint)
    assert row is not None
    return FoundCertificate(**row)
