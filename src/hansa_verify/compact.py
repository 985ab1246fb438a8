"""Compact JSON Web Signatures (RFC 7515) by Ed25519 keys that the reader chooses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .base64url import NotBase64url, decoded
from .canonical import NotCanonical, read_json
from .jws import BadEntry, DetachedSignature, read_entry

COMPACT_MAX_CHARACTERS = 4096
PARTS = 3


@dataclass(frozen=True)
class CompactSignature:
    """A compact JWS, read; nothing in it is believed before `is_by`."""

    entry: DetachedSignature
    payload: Mapping[str, Any]
    raw: bytes

    def is_by(self, public_key: bytes) -> bool:
        """Whether the holder of that key signed it."""
        return self.entry.is_by(public_key, self.raw)


def read_compact(
    text: object, typ: str, max_characters: int = COMPACT_MAX_CHARACTERS
) -> CompactSignature | None:
    """The signature in a text, if it is one of this type with an object as its payload."""
    parts = text.split(".") if isinstance(text, str) and len(text) <= max_characters else []
    if len(parts) != PARTS:
        return None
    try:
        entry = read_entry({"protected": parts[0], "signature": parts[2]})
        raw = decoded(parts[1])
        payload = read_json(raw)
    except (BadEntry, NotBase64url, NotCanonical):
        return None
    if entry.header.get("typ") != typ or not isinstance(payload, dict):
        return None
    return CompactSignature(entry, payload, raw)
