"""Check of the certificate of a service, made for every request that presents one."""

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import Certificate

from hansa.foundation.plumbing.keys.authority import NotRecognised
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.values.errors import Unauthorized

from . import store


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
