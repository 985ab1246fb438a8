"""The house canonical form of JSON: keys sorted at every level, no blanks, non-ASCII escaped."""

import json
from hashlib import sha256
from json import encoder
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)

# What JSONEncoder makes anew for each value, which costs more than encoding a small one.
_parts_of = encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, _ENCODER.default, encoder.encode_basestring_ascii, None, ":", ",", True, False, False
)


def canonical_json(value: Any) -> bytes:
    """The bytes that are signed and hashed. Raises ValueError on NaN and infinities."""
    return "".join(_parts_of(value, 0)).encode()


def digest(value: Any) -> bytes:
    """SHA-256 over the canonical form."""
    return sha256(canonical_json(value)).digest()
