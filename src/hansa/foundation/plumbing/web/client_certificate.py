"""The certificate that a client shows: that of its own TLS connection, or the one that a named proxy forwards.

- A connection to the federation listener carries it in the ASGI extension `tls`.
- A proxy of TRUSTED_PROXIES that ends TLS itself forwards it in `Client-Cert` (RFC 9440) or, as nginx has it, in
  `X-SSL-Client-Cert` (percent-encoded PEM). The header of any other sender is ignored.
- Nothing is trusted here: who issued the certificate, and whether it counts now, is judged by the caller.
"""

import re
import warnings
from base64 import b64decode
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from cryptography import x509
from cryptography.utils import CryptographyDeprecationWarning
from fastapi import Request

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.trusted_proxies import is_proxy
from hansa.foundation.values.errors import Unauthorized

RFC_9440_HEADER = "Client-Cert"
NGINX_HEADER = "X-SSL-Client-Cert"
FORWARDED_MAX_CHARACTERS = 16_384

_BYTE_SEQUENCE = re.compile(r":([A-Za-z0-9+/]+={0,2}):", re.ASCII)


def presented_certificate(request: Request) -> x509.Certificate | None:
    """Return the client's certificate, not judged, or None. Raises: Unauthorized when the forwarded text is no certificate."""
    tls = request.scope.get("extensions", {}).get("tls")
    if tls is not None:
        return _of_connection(tls["client_cert_chain"][0])
    proxies = runtime_of(request).settings.trusted_proxies
    if request.client is None or not is_proxy(request.client.host, proxies):
        return None
    standard, nginx = request.headers.getlist(RFC_9440_HEADER), request.headers.getlist(NGINX_HEADER)
    # nginx sends the header empty where a client showed nothing.
    shown = [value for value in (*standard, *nginx) if value]
    if not shown:
        return None
    if len(shown) > 1 or len(shown[0]) > FORWARDED_MAX_CHARACTERS:
        raise Unauthorized("Exactly one forwarded client certificate of ordinary size is accepted.")
    try:
        with warnings.catch_warnings():
            # What the library will refuse one day is refused here already.
            warnings.simplefilter("error", CryptographyDeprecationWarning)
            return _of_rfc_9440(shown[0]) if standard and standard[0] else _of_nginx(shown[0])
    except (ValueError, x509.InvalidVersion, CryptographyDeprecationWarning):
        raise Unauthorized("The forwarded client certificate cannot be read.") from None


@lru_cache(maxsize=1024)
def _of_connection(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def _of_rfc_9440(value: str) -> x509.Certificate:
    """Raises: ValueError, InvalidVersion."""
    wrapped = _BYTE_SEQUENCE.fullmatch(value)
    if wrapped is None:
        raise ValueError("no byte sequence")
    return x509.load_der_x509_certificate(b64decode(wrapped[1], validate=True))


def _of_nginx(value: str) -> x509.Certificate:
    """Raises: ValueError, InvalidVersion."""
    return x509.load_pem_x509_certificate(unquote_to_bytes(value))
