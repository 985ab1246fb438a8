"""Detached JSON Web Signatures by the registry (RFC 7515, appendix F)."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .records import SigningKey

HEADERS_MAX = 64


def detached_signature(key: SigningKey, payload: bytes, header: Mapping[str, Any]) -> dict[str, str]:
    """The entry that proves the payload to be the registry's word; `header` is added to the algorithm and the key."""
    protected = _protected(key.kid, tuple(header.items()))
    signature = key.private.sign(f"{protected}.{_base64url(payload)}".encode())
    return {"protected": protected, "signature": _base64url(signature)}


# A key signs many documents of few types.
@lru_cache(HEADERS_MAX)
def _protected(kid: str, header: tuple[tuple[str, Any], ...]) -> str:
    whole = {"alg": "EdDSA", "typ": "JOSE", "kid": kid, **dict(header)}
    return _base64url(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode())


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
