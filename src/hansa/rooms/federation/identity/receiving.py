"""Certificates that an operator registry requests of its frame, and stores.

- The keys of a request are written before it is sent: after a crash or a lost answer the same request is sent again.
- A certificate counts when a root of the trust domain certified the requested key under the requested identity.
"""

from collections.abc import Sequence
from datetime import datetime

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

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal
from hansa.foundation.plumbing.keys.sealed_columns import SealedColumn
from hansa.foundation.plumbing.keys.trust_bundle import LeafRefused, TrustBundle
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .errors import CertificatesRefused
from .requests import KINDS, Kind, identities_of, new_request

TABLE = "federation_identity"


def sealed_for(kind: str) -> str:
    """The purpose under which the keys of this identity are sealed."""
    return f"federation identity {kind}"


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


def open_private_key(seal: Seal, kind: Kind, sealed: bytes) -> ec.EllipticCurvePrivateKey:
    """The private key of this identity. Raises: BadSeal."""
    key = load_der_private_key(seal.open(sealed, sealed_for(kind)), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


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
