"""Detached JSON Web Signatures by the registry (RFC 7515, appendix F)."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from .records import SigningKey


def detached_signature(key: SigningKey, payload: bytes, header: Mapping[str, Any]) -> dict[str, str]:
    """The entry that proves the payload to be the registry's word; `header` is added to the algorithm and the key."""
    whole = {"alg": "EdDSA", "typ": "JOSE", "kid": key.kid, **header}
    protected = _base64url(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode())
    signature = key.private.sign(f"{protected}.{_base64url(payload)}".encode())
    return {"protected": protected, "signature": _base64url(signature)}


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
