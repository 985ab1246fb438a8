"""The house canonical form of JSON: keys sorted at every level, no blanks, non-ASCII escaped."""

import json
from hashlib import sha256
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_json(value: Any) -> bytes:
    """The bytes that are signed and hashed. Raises ValueError on NaN and infinities."""
    return _ENCODER.encode(value).encode()


def digest(value: Any) -> bytes:
    """SHA-256 over the canonical form."""
    return sha256(canonical_json(value)).digest()
