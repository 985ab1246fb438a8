"""The certificate authorities that clients trust: those of the system, or of SSL_CERT_FILE and SSL_CERT_DIR.

They are read once for all clients of a process: reading them takes 20 ms of CPU.
"""

import os
import ssl
from functools import cache

import httpx2


def trusted_authorities(*, trust_env: bool = True) -> ssl.SSLContext:
    """Return the SSL context that httpx2 makes for each client; `trust_env` states that the two variables count."""
    variables = [os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")] if trust_env else []
    return _read(*variables)


@cache
def _read(*variables: str | None) -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=bool(variables))
