"""The identity that this registry shows over mutual TLS: issued by its own authority, by SPIRE, or received from its frame.

- Rooms and listeners ask one object for it (`LOCAL_IDENTITY`), whichever of them it is.
- An operator registry requests its certificates of its frame, and stores them. The keys of a request are written before it is
  sent: after a crash or a lost answer the same request is sent again.
- A certificate counts when a root of the trust domain certified the requested key under the requested identity.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
)

from hansa.foundation.plumbing.keys.authority import IdentityAuthority, Svid, key_pem
from hansa.foundation.plumbing.keys.seal import BadSeal, Seal, SealedColumn
from hansa.foundation.plumbing.keys.trust_bundle import LeafRefused, TrustBundle
from hansa.foundation.plumbing.outgoing.workload_api import WorkloadIdentity
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.federation.charter import registry_id_of

from . import store
from .errors import CertificatesRefused, FederationOff, NotEnrolled, WorkloadIdentityMissing
from .requests import KINDS, Kind, identities_of, new_request

CERTIFICATE_LIFETIME = timedelta(days=1)
REMEMBERED_SECONDS = 5.0
"""For how long a received certificate is shown before it is read again; a renewed one comes days before the end."""
TABLE = "federation_identity"


class LocalIdentity(ABC):
    """Identity that this registry shows, and the roots that certify it."""

    @property
    def revision(self) -> int:
        """Another number when the identity changed and the database does not show it."""
        return 0

    @abstractmethod
    async def svid(self, kind: Kind = "registry", *, host: str | None = None) -> Svid:
        """The certificate to show now; one for a listener names `host`, where this registry certifies itself.

        Raises: FederationOff, IdentityMissing.
        """

    @abstractmethod
    async def roots_pem(self) -> str:
        """The roots of the own trust domain. Raises: FederationOff, IdentityMissing."""


def local_identity(runtime: Runtime) -> LocalIdentity:
    """Make the identity of a process."""
    if runtime.settings.is_operator:
        return ReceivedIdentity(runtime)
    if runtime.settings.uses_workload_api:
        return SpireIdentity(runtime)
    return IssuedIdentity(runtime.authority, runtime.settings)


def sealed_for(kind: str) -> str:
    """The purpose under which the keys of this identity are sealed."""
    return f"federation identity {kind}"


def open_private_key(seal: Seal, kind: Kind, sealed: bytes) -> ec.EllipticCurvePrivateKey:
    """The private key of this identity. Raises: BadSeal."""
    key = load_der_private_key(seal.open(sealed, sealed_for(kind)), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


LOCAL_IDENTITY: Slot[LocalIdentity] = Slot("federation: the identity shown to peers", build=local_identity)


@asynccontextmanager
async def identity_followed(runtime: Runtime) -> AsyncIterator[None]:
    """Follow the Workload API meanwhile, where it certifies this registry."""
    identity = LOCAL_IDENTITY.of(runtime)
    if not isinstance(identity, SpireIdentity):
        yield
        return
    identity.received.follow()
    try:
        yield
    finally:
        await identity.received.close()


class IssuedIdentity(LocalIdentity):
    """Certificates of the own authority, issued for a day and renewed at half of it, or when the authority changes."""

    def __init__(self, authority: IdentityAuthority | None, settings: Settings) -> None:
        self._authority = authority
        self._spiffe_id = registry_id_of(settings.trust_domain, settings.registry_name)
        self._issued: dict[str | None, tuple[int, Svid]] = {}

    @property
    def revision(self) -> int:
        return 0 if self._authority is None else self._authority.revision

    async def svid(self, kind: Kind = "registry", *, host: str | None = None) -> Svid:
        """A frame is no operator of its own: its only identity is that of the registry."""
        assert kind == "registry"
        authority, now = self._required(), datetime.now(UTC)
        revision, known = self._issued.get(host, (0, None))
        is_present = known is not None and revision == authority.revision
        if known is None or not is_present or now > known.expires_at - CERTIFICATE_LIFETIME / 2:
            hosts = [] if host is None else [host]
            known = authority.issue(self._spiffe_id, now=now, lifetime=CERTIFICATE_LIFETIME, hosts=hosts)
            self._issued[host] = authority.revision, known
        return known

    async def roots_pem(self) -> str:
        """The roots that the authority publishes."""
        return self._required().bundle_pem

    def _required(self) -> IdentityAuthority:
        if self._authority is None:
            raise FederationOff
        return self._authority


class SpireIdentity(LocalIdentity):
    """Certificates of a SPIRE agent, as it sent them last; it renews them by itself."""

    def __init__(self, runtime: Runtime) -> None:
        settings = runtime.settings
        assert settings.workload_socket is not None, "the settings require one"
        spiffe_id = registry_id_of(settings.trust_domain, settings.registry_name)
        self.received = WorkloadIdentity(
            settings.workload_socket, spiffe_id, settings.trust_domain, runtime.jobs
        )

    @property
    def revision(self) -> int:
        return self.received.revision

    async def svid(self, kind: Kind = "registry", *, host: str | None = None) -> Svid:
        """The agent's entry says which host names are certified; `host` is left aside."""
        del host
        assert kind == "registry"
        svid = await self.received.current()
        if svid is None:
            raise WorkloadIdentityMissing
        return svid

    async def roots_pem(self) -> str:
        """The roots that the agent sent with the certificate."""
        return (await self.svid()).bundle_pem


class _Remembered(msgspec.Struct, frozen=True):
    svid: Svid
    until: float


class ReceivedIdentity(LocalIdentity):
    """Certificates that the frame issued, as the database has them."""

    def __init__(self, runtime: Runtime) -> None:
        self._database, self._seal, self._settings = runtime.database, runtime.seal, runtime.settings
        self._remembered: dict[Kind, _Remembered] = {}

    async def svid(self, kind: Kind = "registry", *, host: str | None = None) -> Svid:
        """The frame certifies no host name; `host` is left aside."""
        del host
        known = self._remembered.get(kind)
        if known is None or monotonic() > known.until:
            svid = await self._database.query(lambda tx: self._read(tx, kind))
            known = self._remembered[kind] = _Remembered(svid, monotonic() + REMEMBERED_SECONDS)
        return known.svid

    async def roots_pem(self) -> str:
        """The roots of the frame."""
        roots = await self._database.query(store.own_roots)
        if roots is None:
            raise NotEnrolled
        return roots

    async def _read(self, tx: Tx, kind: Kind) -> Svid:
        held, roots = await store.held(tx, kind), await store.own_roots(tx)
        if held is None or roots is None or held.now >= held.expires_at:
            raise NotEnrolled
        try:
            key = open_private_key(self._seal, kind, held.sealed_key)
        except BadSeal:
            raise NotEnrolled from None
        spiffe_id = identities_of(self._settings.trust_domain, self._settings.registry_name)[kind]
        return Svid(spiffe_id, held.certificate, key_pem(key), roots, held.expires_at)


SEALED_IDENTITY_KEYS = SealedColumn(TABLE, "kind", "sealed_key", sealed_for)
SEALED_REQUESTED_KEYS = SealedColumn(TABLE, "kind", "sealed_requested_key", sealed_for)


class Requested(msgspec.Struct, frozen=True):
    """A request under way: the identity, the sealed key and the request itself, in PEM."""

    kind: Kind
    spiffe_id: str
    sealed_key: bytes
    public_key: bytes
    request: str


async def prepare_requests(tx: Tx, seal: Seal, settings: Settings) -> list[Requested]:
    """The requests for both identities; those of a request that is under way, where there is one."""
    for kind in KINDS:
        await store.request(tx, kind, _new_key(seal, kind))
    sealed = await store.requested_keys(tx)
    identities = identities_of(settings.trust_domain, settings.registry_name)
    return [await _opened(tx, seal, kind, identities[kind], sealed[kind]) for kind in KINDS]


async def receive_certificates(
    tx: Tx, requested: Sequence[Requested], certificates: Sequence[str], bundle: TrustBundle
) -> None:
    """Store the certificates that were issued for the requests, all of them or none. Raises: CertificatesRefused."""
    timestamp = await clock.now(tx)
    leaves = [_leaf(text, bundle, timestamp) for text in certificates]
    for one in requested:
        found = [
            leaf for leaf in leaves if (leaf.spiffe_id, leaf.public_key) == (one.spiffe_id, one.public_key)
        ]
        if len(found) != 1:
            raise CertificatesRefused(
                f"the answer has no certificate of {one.spiffe_id} for the requested key"
            )
        leaf = found[0]
        # Another process may have received it meanwhile: its certificate is as good.
        await store.receive(tx, one.kind, one.sealed_key, leaf.received)


class _Leaf(msgspec.Struct, frozen=True):
    spiffe_id: str
    public_key: bytes
    received: store.ReceivedLeaf


def _leaf(text: str, bundle: TrustBundle, timestamp: datetime) -> _Leaf:
    try:
        certificate = x509.load_pem_x509_certificate(text.encode())
        spiffe_id = bundle.recognise(certificate, now=timestamp)
    except (ValueError, LeafRefused, x509.InvalidVersion):
        raise CertificatesRefused("a certificate in the answer is not one of the trust domain") from None
    public_key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    pem = certificate.public_bytes(Encoding.PEM).decode()
    begins_at, expires_at = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return _Leaf(spiffe_id, public_key, store.ReceivedLeaf(pem, begins_at, expires_at))


def _new_key(seal: Seal, kind: Kind) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return seal.close(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()), sealed_for(kind))


async def _opened(tx: Tx, seal: Seal, kind: Kind, spiffe_id: str, sealed: bytes) -> Requested:
    try:
        key = open_private_key(seal, kind, sealed)
    except BadSeal:
        # Sealed under a key that is lost: a request with it can no longer be used.
        sealed = _new_key(seal, kind)
        await store.replace_request(tx, kind, sealed)
        key = open_private_key(seal, kind, sealed)
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return Requested(kind, spiffe_id, sealed, public, new_request(spiffe_id, key))
