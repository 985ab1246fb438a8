"""Read the certificates that this registry issued, and those that it holds."""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa_verify import Certificate, read_certificate

from . import store, verdicts_store
from .errors import CertificateUnknown
from .held import held_licence
from .operator_held import held_operator_licence
from .records import CertificateFilter, IssuedCertificate


class FoundLicence(msgspec.Struct, frozen=True):
    """A certificate that this registry issued or holds, and its state `as_of` the time by which that is known.

    `updated_at` is None of one that another registry issued, `as_of` before the lists of its issuers were read.
    """

    certificate: Certificate
    state: str
    updated_at: datetime | None
    as_of: datetime | None


async def licence_by_hash(tx: Tx, settings: Settings, cert_hash: str) -> FoundLicence:
    """The certificate with this hash that was issued here or is held here. Raises: CertificateUnknown."""
    issued = await store.find(tx, cert_hash)
    if issued is not None and issued.hash == cert_hash:
        now = await clock.now(tx)
        return FoundLicence(read_certificate(issued.certificate), issued.state, issued.updated_at, now)
    own = await held_licence(tx, settings)
    if own is not None and own.network.hash == cert_hash:
        as_of = await verdicts_store.as_of(tx, settings.trust_domain, cert_hash)
        return FoundLicence(read_certificate(own.network.certificate), own.state, None, as_of)
    operator = await held_operator_licence(tx)
    if operator is not None and operator.hash == cert_hash:
        return FoundLicence(read_certificate(operator.certificate), operator.state, None, None)
    raise CertificateUnknown


async def issued_licence_id(tx: Tx, lid_or_hash: str) -> str | None:
    """The id of the certificate with this id or hash that this registry issued, or None."""
    issued = await store.find(tx, lid_or_hash)
    return None if issued is None else issued.lid


async def list_licence_certificates(
    tx: Tx, criteria: CertificateFilter
) -> tuple[list[IssuedCertificate], int]:
    """A page of issued certificates, newest first, and how many there are of these in all."""
    return await store.page(tx, criteria)
