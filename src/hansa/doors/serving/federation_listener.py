"""The federation listener: mutual TLS on a port of its own, so that no browser is asked for a certificate.

- It shows the registry's own identity: issued by the embedded authority for a day and renewed at half of it, or received from
  the frame or a SPIRE agent. It takes no connection before it has received one.
- It takes connections of this trust domain and of those of approved peers. A leaf is judged by the roots of the trust domain
  that it names itself (`trusted_domains.py`). The rights of a certificate are judged with each request.
- An agent's connection ends with its identity (`agent_connections.py`), a peer's with its root, any after an hour.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from hansa.doors.http.connection.http_connections import ConnectionProtocol
from hansa.doors.serving.agent_connections import IDENTITY, AgentConnections, agent_identity, presented_by
from hansa.doors.serving.trusted_domains import TrustedDomains
from hansa.foundation.values.errors import Refused

RENEWAL_SECONDS = 3600.0
CONNECTION_SECONDS = 3600.0
# What a request that is under way at the end of a connection has left.
LAST_REQUEST_SECONDS = 60.0
CLOSING_SECONDS = 0.5


class FederationProtocol(ConnectionProtocol):
    """A connection whose requests carry the client's certificate, as the ASGI extension `tls` has it."""

    _tls: dict[object, object] | None = None
    """None before the certificate counts: nothing that was sent is looked at."""
    _ending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        shown = presented_by(transport)
        connections: AgentConnections = self.app
        if not connections.trusted.opened(shown, transport):
            self._note_refusal()
            transport.abort()
            return
        tls: dict[object, object] = {"client_cert_chain": [ssl.DER_cert_to_PEM_cert(shown)]}
        self._ending = self.loop.call_later(CONNECTION_SECONDS, self._end, transport)
        identity = agent_identity(shown, connections.state.runtime.settings.trust_domain)
        if identity is not None:
            tls[IDENTITY] = identity
            connections.opened(identity, transport)
        self._tls = tls

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._ending is not None:
            self._ending.cancel()

    def data_received(self, data: bytes) -> None:
        if self._tls is not None:
            super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        assert self._tls is not None, "data is not looked at before"
        self.scope["extensions"] = {"tls": self._tls}

    def shutdown(self) -> None:
        """Close an idle connection; one that answers is closed after its answer."""
        super().shutdown()
        # TLS waits for the other side to close as well, which a pool does not do with its idle connections.
        if self.transport.is_closing():
            self.loop.call_later(CLOSING_SECONDS, self.transport.abort)

    def _end(self, transport: asyncio.Transport) -> None:
        """Answer the requests under way, then close; a connection that goes on is cut off."""
        self.shutdown()
        self._ending = self.loop.call_later(LAST_REQUEST_SECONDS, transport.abort)


@asynccontextmanager
async def mutual_tls(trusted: TrustedDomains) -> AsyncIterator[None]:
    """Keep the listener's certificate in force meanwhile. Raises: Unavailable."""
    await trusted.renew()
    renewing = asyncio.create_task(_keep_certified(trusted))
    try:
        yield
    finally:
        renewing.cancel()


async def _keep_certified(trusted: TrustedDomains) -> None:
    while True:
        await asyncio.sleep(RENEWAL_SECONDS)
        # While the database is out of reach the present certificate stays: the next round comes long before its end.
        with suppress(Refused):
            await trusted.renew()
