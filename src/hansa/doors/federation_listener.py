"""The federation listener: mutual TLS on a port of its own, so that nobody's browser is ever asked for a certificate.

- It shows the registry's own identity, issued by the embedded authority for a day and renewed at half of it.
- It takes connections of this trust domain alone. What a certificate opens is judged with each request,
  and an agent's connection ends with its identity (agent_connections).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from tempfile import NamedTemporaryFile
from urllib.parse import urlsplit

from hansa.doors.agent_connections import IDENTITY, AgentConnections, agent_identity, shown_by
from hansa.doors.http.connections import ConnectionProtocol
from hansa.foundation.plumbing.authority import IdentityAuthority
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import federation

IDENTITY_LIFETIME = timedelta(days=1)


class FederationProtocol(ConnectionProtocol):
    """A connection whose requests carry the client's certificate, as the ASGI extension `tls` has it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        shown = shown_by(transport)
        self._tls: dict[object, object] = {"client_cert_chain": [ssl.DER_cert_to_PEM_cert(shown)]}
        connections: AgentConnections = self.app
        identity = agent_identity(shown, connections.state.runtime.settings.trust_domain)
        if identity is not None:
            self._tls[IDENTITY] = identity
            connections.opened(identity, transport)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {"tls": self._tls}


@asynccontextmanager
async def mutual_tls(settings: Settings, authority: IdentityAuthority) -> AsyncIterator[ssl.SSLContext]:
    """The listener's side of a handshake, its certificate renewed meanwhile."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(cadata=authority.bundle_pem)
    # A resumed session would show the certificate of the first one, however long ago that ended.
    context.num_tickets = 0
    _certify(context, settings, authority)
    renewing = asyncio.create_task(_keep_certified(context, settings, authority))
    try:
        yield context
    finally:
        renewing.cancel()


async def _keep_certified(context: ssl.SSLContext, settings: Settings, authority: IdentityAuthority) -> None:
    while True:
        await asyncio.sleep(IDENTITY_LIFETIME.total_seconds() / 2)
        _certify(context, settings, authority)


def _certify(context: ssl.SSLContext, settings: Settings, authority: IdentityAuthority) -> None:
    """Show a new certificate from the next handshake on."""
    host = urlsplit(settings.federation_url).hostname
    assert host is not None
    identity = authority.issue(
        federation.registry_id_of(settings.trust_domain, settings.registry_name),
        now=datetime.now(UTC),
        lifetime=IDENTITY_LIFETIME,
        hosts=[host],
    )
    # The library reads certificates from files alone; this one is gone when it has.
    with NamedTemporaryFile(dir=settings.data_dir, prefix="identity-", suffix=".pem") as file:
        file.write(f"{identity.key_pem}{identity.certificate_pem}".encode())
        file.flush()
        context.load_cert_chain(file.name)
