"""Keys, times and signatures of the documents that are judged as of a time."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa_verify import CARD_PROFILE, canonical_json, encoded
from tests.verifier.served import Vector

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
OLD, NEW, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([byte]) * 32) for byte in (1, 2, 3))
ACCOUNT, OTHER_ACCOUNT = "did:hansa:hansa.local:a", "did:hansa:hansa.local:Köln-😀"


def vector(kind: str, name: str, at: datetime, expect: str, **members: Any) -> Vector:
    return {"kind": kind, "name": f"{kind}_{name}", "at": at.isoformat(), **members, "expect": expect}


def point(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def jwk(kid: str, key: Ed25519PrivateKey, **times: Any) -> dict[str, Any]:
    return {"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": encoded(point(key)), **times}


def signed(content: dict[str, Any], typ: str, kid: str, signed_at: datetime, key: Ed25519PrivateKey) -> str:
    header = {
        "alg": "EdDSA",
        "kid": kid,
        "typ": typ,
        "canon": CARD_PROFILE,
        "iat": int(signed_at.timestamp()),
    }
    protected = encoded(canonical_json(header))
    signature = key.sign(f"{protected}.{encoded(canonical_json(content))}".encode())
    return json.dumps({**content, "signatures": [{"protected": protected, "signature": encoded(signature)}]})
