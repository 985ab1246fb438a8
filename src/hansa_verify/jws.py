"""JSON Web Signatures (RFC 7515) by Ed25519 keys that the reader chooses: detached ones of a card, and compact ones.

- The algorithm is fixed by the reader: EdDSA with Ed25519. The header's algorithm is only compared.
- A header that asks the reader to understand more (`crit`, `b64`) is refused.
- Whose key it is, is decided by the reader; a key or an address of keys inside the header is never used.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from .canonical import NotBase64url, NotCanonical, decoded, encoded, read_json
from .keys import is_signed
from .steps import Unreadable

ALGORITHM = "EdDSA"
SIGNATURE_BYTES = 64
PROTECTED_MAX_CHARACTERS = 8192
KID_MAX_CHARACTERS = 1024
COMPACT_MAX_CHARACTERS = 4096
PARTS = 3
HEADERS_MAX = 256
"""Headers kept as they were read."""

_TYPES = {"kid": str, "canon": str, "typ": str, "iat": int}


class BadEntry(Unreadable):
    """The entry is not a detached signature that can be judged; `code` names why, the message is one line."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True)
class DetachedSignature:
    """One entry of `signatures`, read; nothing in it is believed yet. `profile` is its canonical form, `signed_at` in seconds."""

    protected: str
    header: Mapping[str, Any]
    signature: bytes
    kid: str | None
    profile: str | None
    signed_at: int | None

    def is_by(self, public_key: bytes, payload: bytes) -> bool:
        """Return whether the holder of that key signed these bytes."""
        return is_signed(public_key, self.signature, f"{self.protected}.{encoded(payload)}".encode())


@dataclass(frozen=True)
class CompactSignature:
    """A compact JWS, read; nothing in it is believed before `is_by`."""

    entry: DetachedSignature
    payload: Mapping[str, Any]
    signed: bytes
    """What the signature is made of: header and payload as they are written."""

    def is_by(self, public_key: bytes) -> bool:
        """Return whether the holder of that key signed it."""
        return is_signed(public_key, self.entry.signature, self.signed)


def read_entry(entry: object) -> DetachedSignature:
    """Read one entry of `signatures`; an unprotected header counts for nothing. Raises: BadEntry."""
    protected = entry.get("protected") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(protected, str):
        raise BadEntry("malformed", "a signature is an object with `protected` and `signature`")
    if len(protected) > PROTECTED_MAX_CHARACTERS:
        raise BadEntry("malformed", f"`protected` has at most {PROTECTED_MAX_CHARACTERS} characters")
    try:
        header, signature = _header(protected), decoded(entry.get("signature"))
    except (NotBase64url, NotCanonical) as error:
        raise BadEntry("malformed", str(error)) from None
    if len(signature) != SIGNATURE_BYTES:
        raise BadEntry("malformed", f"an Ed25519 signature has {SIGNATURE_BYTES} bytes")
    declared = (header.get(name) for name in ("kid", "canon", "iat"))
    return DetachedSignature(protected, header, signature, *declared)


def read_compact(
    text: object,
    typ: str,
    max_characters: int = COMPACT_MAX_CHARACTERS,
    read_payload: Callable[[bytes], Any] = read_json,
) -> CompactSignature | None:
    """Return the signature in a text, if it is one of this type with an object as its payload, else None.

    `read_payload` reads the payload as strictly as `read_json`, and raises the same errors.
    """
    parts = text.split(".") if isinstance(text, str) and len(text) <= max_characters else []
    if len(parts) != PARTS:
        return None
    try:
        entry = read_entry({"protected": parts[0], "signature": parts[2]})
        payload = read_payload(decoded(parts[1]))
    except (BadEntry, NotBase64url, NotCanonical):
        return None
    if entry.header.get("typ") != typ or not isinstance(payload, dict):
        return None
    return CompactSignature(entry, payload, f"{parts[0]}.{parts[1]}".encode())


def kid_named(text: str) -> str | None:
    """The key that the header of a compact JWS names, or of its protected part alone; None where it names none."""
    protected = text.partition(".")[0]
    try:
        kid: str | None = (
            _header(protected).get("kid") if len(protected) <= PROTECTED_MAX_CHARACTERS else None
        )
    except (BadEntry, NotBase64url, NotCanonical):
        return None
    return kid


# The messages of one registry all have the same header.
@lru_cache(HEADERS_MAX)
def _header(protected: str) -> Mapping[str, Any]:
    """The protected header. Raises: BadEntry, NotBase64url, NotCanonical."""
    header = read_json(decoded(protected))
    _require_header(header)
    return MappingProxyType(header)


def _require_header(header: Any) -> None:
    if not isinstance(header, dict):
        raise BadEntry("malformed", "the protected header is an object")
    if header.get("alg") != ALGORITHM:
        raise BadEntry("unknown_alg", f"the algorithm is {ALGORITHM} and nothing else")
    if "crit" in header or "b64" in header:
        raise BadEntry("malformed", "the header asks for extensions that nobody here knows")
    for name, kind in _TYPES.items():
        if name in header and type(header[name]) is not kind:
            raise BadEntry("malformed", f"`{name}` is of another type")
    if len(header.get("kid", "")) > KID_MAX_CHARACTERS:
        raise BadEntry("malformed", f"`kid` has at most {KID_MAX_CHARACTERS} characters")
