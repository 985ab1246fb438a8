"""Read the certificates that this registry issued."""

from hansa.foundation.plumbing.database import Tx

from . import store
from .errors import CertificateUnknown
from .records import CertificateFilter, IssuedCertificate


async def certificate_by_hash(tx: Tx, cert_hash: str) -> IssuedCertificate:
    """The issued certificate with this hash. Raises: CertificateUnknown."""
    found = await store.find(tx, cert_hash)
    if found is None or found.hash != cert_hash:
        raise CertificateUnknown
    return found


async def list_licence_certificates(
    tx: Tx, criteria: CertificateFilter
) -> tuple[list[IssuedCertificate], int]:
    """A page of issued certificates, newest first, and how many there are of these in all."""
    return await store.page(tx, criteria)
