"""Detached JSON Web Signatures (RFC 7515, appendix F) as an agent card carries them.

- The algorithm is fixed by the reader: EdDSA with Ed25519. What the header says of it is only compared.
- A header that asks the reader to understand more (`crit`, `b64`) is refused.
- Whose key it is, is decided by the reader; a key or an address of keys inside the header is never used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .base64url import NotBase64url, decoded, encoded
from .canonical import NotCanonical, read_json

ALGORITHM = "EdDSA"
SIGNATURE_BYTES = 64
PROTECTED_MAX_CHARACTERS = 8192
KID_MAX_CHARACTERS = 1024


class BadEntry(ValueError):
    """The entry is not a detached signature that can be judged; `code` names why, the message is one line."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True)
class DetachedSignature:
    """One entry of `signatures`, read; nothing in it is believed yet."""

    protected: str
    header: Mapping[str, Any]
    signature: bytes

    @property
    def kid(self) -> str | None:
        """The key that the entry names."""
        kid: str | None = self.header.get("kid")
        return kid

    @property
    def profile(self) -> str | None:
        """The canonical form that the entry names."""
        profile: str | None = self.header.get("canon")
        return profile

    @property
    def signed_at(self) -> int | None:
        """When it says that it was made, in epoch seconds."""
        signed_at: int | None = self.header.get("iat")
        return signed_at

    def is_by(self, public_key: bytes, payload: bytes) -> bool:
        """Whether the holder of that key signed these bytes."""
        signed = f"{self.protected}.{encoded(payload)}".encode()
        try:
            Ed25519PublicKey.from_public_bytes(public_key).verify(self.signature, signed)
        except (InvalidSignature, ValueError):
            return False
        return True


def read_entry(entry: object) -> DetachedSignature:
    """Read one entry of `signatures`; an unprotected header counts for nothing. Raises: BadEntry."""
    if not isinstance(entry, Mapping):
        raise BadEntry("malformed", "a signature is an object with `protected` and `signature`")
    protected = entry.get("protected")
    if not isinstance(protected, str) or len(protected) > PROTECTED_MAX_CHARACTERS:
        raise BadEntry("malformed", "`protected` is a text of bounded length")
    try:
        header = read_json(decoded(protected))
        signature = decoded(entry.get("signature"))
    except (NotBase64url, NotCanonical) as trouble:
        raise BadEntry("malformed", str(trouble)) from None
    if not isinstance(header, dict):
        raise BadEntry("malformed", "the protected header is an object")
    _require_header(header)
    if len(signature) != SIGNATURE_BYTES:
        raise BadEntry("malformed", f"an Ed25519 signature has {SIGNATURE_BYTES} bytes")
    return DetachedSignature(protected, header, signature)


def _require_header(header: Mapping[str, Any]) -> None:
    if header.get("alg") != ALGORITHM:
        raise BadEntry("unknown_alg", f"the algorithm is {ALGORITHM} and nothing else")
    if "crit" in header or "b64" in header:
        raise BadEntry("malformed", "the header asks for extensions that nobody here knows")
    for name, kind in (("kid", str), ("canon", str), ("typ", str), ("iat", int)):
        if name in header and type(header[name]) is not kind:
            raise BadEntry("malformed", f"`{name}` is of another type")
    if len(header.get("kid", "")) > KID_MAX_CHARACTERS:
        raise BadEntry("malformed", f"`kid` has at most {KID_MAX_CHARACTERS} characters")
