"""Trust domains whose certificates the federation listener takes: this one and those of approved peers.

- The library verifies a chain against the roots of all of them. Afterwards the leaf is judged by the roots of the one trust
  domain that it names: a registry cannot certify an identity of another.
- Changes, also of the roots that the Workload API sent, are looked for once a second. Each makes a
  new context for the connections to come, and cuts off those whose trust domain or root is gone.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import structlog
from cryptography import x509

from hansa.foundation.plumbing.keys.authority import Svid
from hansa.foundation.plumbing.keys.trust_bundle import (
    LeafRefused,
    TrustBundle,
    bundle_of,
    domain_of,
    uris_of,
)
from hansa.foundation.plumbing.outgoing import show_certificate
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.errors import Refused
from hansa.rooms import federation

LOOK_SECONDS = 1.0

_log = structlog.get_logger()


class NothingToShow(OSError):
    """No certificate that is in force was received, from the frame or the SPIRE agent: a connection is closed."""


class TrustedDomains:
    """The roots that count now, and the open connections."""

    def __init__(self, trust_domain: str, identity: federation.LocalIdentity, host: str) -> None:
        self._trust_domain = trust_domain
        self._source = identity
        self._host = host
        self._bundles: dict[str, list[TrustBundle]] = {}
        self._version: tuple[int, int] | None = None
        self._identity: Svid | None = None
        self._context: ssl.SSLContext | None = None
        self._open: dict[asyncio.Transport, x509.Certificate] = {}

    @property
    def context(self) -> ssl.SSLContext:
        """For the next handshake. Raises: NothingToShow."""
        if self._context is None:
            self._context = self._built()
        return self._context

    async def renew(self) -> None:
        """Show the present certificate from the next handshake on, and take the present roots. Raises: Unavailable."""
        try:
            identity, roots = await self._source.svid(host=self._host), await self._source.roots_pem()
        except federation.IdentityMissing:
            self._identity, self._context = None, None
            return
        self._bundles[self._trust_domain] = [bundle_of(self._trust_domain, roots, 0)]
        self._identity, self._context = identity, None

    def opened(self, shown: bytes, transport: asyncio.Transport) -> bool:
        """Return whether the leaf counts; its connection is then remembered while it is open."""
        leaf = x509.load_der_x509_certificate(shown)
        if not self._recognises(leaf):
            return False
        self._open[transport] = leaf
        return True

    async def refresh(self, database: Database) -> None:
        """Take over the changes since the last look. Raises: Unavailable."""
        # A connection that became a WebSocket ends without a word to the protocol that began it.
        self._open = {one: stored for one, stored in self._open.items() if not one.is_closing()}
        version = await database.query(federation.trust_version), self._source.revision
        if version == self._version:
            return
        await self.renew()
        self._trust(await database.query(federation.trusted_bundles))
        self._version = version

    @asynccontextmanager
    async def watched(self, database: Database) -> AsyncIterator[None]:
        """Follow changes meanwhile."""
        await self.refresh(database)
        task = asyncio.create_task(self._watch(database))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _watch(self, database: Database) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            # While the database is out of reach nothing is opened either.
            with suppress(Refused):
                await self.refresh(database)

    def _trust(self, bundles: Sequence[TrustBundle]) -> None:
        own = self._trust_domain
        grouped: dict[str, list[TrustBundle]] = {own: self._bundles.get(own, [])}
        for bundle in bundles:
            # A registry of this trust domain is certified by the own roots, whatever it says of itself.
            if bundle.trust_domain != own:
                grouped.setdefault(bundle.trust_domain, []).append(bundle)
        self._bundles, self._context = grouped, None
        _log.info("trusted domains changed", domains=len(grouped))
        for transport, leaf in list(self._open.items()):
            if not self._recognises(leaf):
                del self._open[transport]
                transport.abort()

    def _recognises(self, leaf: x509.Certificate) -> bool:
        now = datetime.now(UTC)
        return any(_certifies(bundle, leaf, now) for bundle in self._bundles.get(self._domain_of(leaf), ()))

    @staticmethod
    def _domain_of(leaf: x509.Certificate) -> str:
        uris = uris_of(leaf)
        return (domain_of(uris[0]) or "") if len(uris) == 1 else ""

    def _built(self) -> ssl.SSLContext:
        if self._identity is None:
            raise NothingToShow
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.load_verify_locations(cadata=_joined(self._bundles.values()))
        # A resumed session would show the certificate of the first one, however long ago that ended.
        context.num_tickets = 0
        show_certificate(context, self._identity)
        return context


def _certifies(bundle: TrustBundle, leaf: x509.Certificate, now: datetime) -> bool:
    try:
        bundle.recognise(leaf, now=now)
    except LeafRefused:
        return False
    return True


def _joined(grouped: Iterable[Sequence[TrustBundle]]) -> str:
    return "".join(bundle.pem for bundles in grouped for bundle in bundles)
