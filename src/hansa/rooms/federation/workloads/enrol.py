"""Give a service a certificate, and take it back.

Check of the certificate of a service, made for every request that presents one.
"""

import re
from datetime import timedelta

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import Certificate

from hansa.foundation.plumbing.keys.authority import IdentityAuthority, NotRecognised, Svid
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unauthorized

from . import store
from .errors import ServiceNameRefused, ServiceUnknown
from .records import ServiceCertificate

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


class EnrolledService(msgspec.Struct, frozen=True):
    """A service with its new certificate."""

    name: str
    svid: Svid


def service_id_of(trust_domain: str, name: str) -> str:
    """The SPIFFE id of a service."""
    return f"spiffe://{trust_domain}/service/{name}"


async def enrol_service(
    tx: Tx, authority: IdentityAuthority, *, name: str, trust_domain: str, lifetime: timedelta
) -> EnrolledService:
    """Certify a service. Certificates that it has stay in force until they end. Raises: ServiceNameRefused."""
    if not _NAME.fullmatch(name):
        raise ServiceNameRefused
    spiffe_id, now = service_id_of(trust_domain, name), (await clock.now(tx)).replace(microsecond=0)
    svid = authority.issue(spiffe_id, now=now, lifetime=lifetime)
    certificate = x509.load_pem_x509_certificate(svid.certificate_pem.encode())
    await store.add(
        tx,
        certificate.fingerprint(SHA256()),
        name=name,
        spiffe_id=spiffe_id,
        issued_at=now,
        lifetime=lifetime,
    )
    return EnrolledService(name, svid)


async def revoke_service(tx: Tx, name: str) -> int:
    """Trust no certificate of a service any more; returns how many were in force. Raises: ServiceUnknown."""
    revoked = await store.revoke(tx, name)
    if revoked == 0:
        raise ServiceUnknown(f"No valid certificate of service {name!r} exists.")
    return revoked


async def list_certificates(tx: Tx) -> list[ServiceCertificate]:
    """Every certificate that a service ever got, by name and then by age."""
    return await store.certificates(tx)


async def check_service(runtime: Runtime, certificate: Certificate) -> None:
    """The certificate is one that this registry gave to a service, and it is in force. Raises: Unauthorized.

    A proxy that forwards a certificate may have looked at it or not: it is verified here in any case.
    """
    shown = await runtime.database.query(
        lambda tx: store.find_presented(tx, certificate.fingerprint(SHA256()))
    )
    if runtime.authority is None or shown.spiffe_id is None:
        raise Unauthorized("This client certificate is not a valid certificate of a service.")
    try:
        proved = runtime.authority.recognise(certificate, now=shown.now)
    except NotRecognised:
        raise Unauthorized("This client certificate was not issued by this registry's authority.") from None
    if proved != shown.spiffe_id:
        raise Unauthorized("This client certificate belongs to another service.")
