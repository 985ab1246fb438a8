"""Signing key of the peer whose certificate the rights matrix presents, and statements signed with it."""

from datetime import UTC, datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.values.jwk import jwk_of
from hansa.rooms.auditor.cross_registry.rules import Totals
from hansa.rooms.auditor.cross_registry.statements import signed_statement
from hansa.rooms.federation import SigningKey

PEER_ID = "spiffe://peer.example/registry/peer"
KID = f"{PEER_ID}#1"

_PRIVATE = Ed25519PrivateKey.from_private_bytes(b"a peer's key, known to all tests")

KEY_SET = {"keys": [{**jwk_of(_PRIVATE.public_key().public_bytes_raw()), "kid": KID}]}


def statement_of_totals(reader: str) -> str:
    """Return the peer's signed statement of totals to the registry with this SPIFFE id."""
    now = datetime.now(UTC)
    key = SigningKey(KID, 1, now, _PRIVATE, now)
    return signed_statement(key, Totals(0, 0, 0), author=PEER_ID, reader=reader, nonce="asked-once")
