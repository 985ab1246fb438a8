"""Witnesses of a log: their keys (C2SP signed-note verifier keys) and what they sign (C2SP tlog-cosignature, Ed25519)."""

from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .keys import KEY_BYTES, NotAKey, require_usable

LOG_KEY = b"\x01"
WITNESS_KEY = b"\x04"
NAME_MAX_CHARACTERS = 255
_ID_BYTES = 4
_TIME_BYTES = 8
_SIGNATURE_BYTES = 64
_PREFIX = "\u2014 "
_KEY_PARTS = 3
_LINES_MAX = 32


@dataclass(frozen=True)
class VerifierKey:
    """The name and the key of a signer of notes; `kind` is that of a log or that of a witness."""

    name: str
    public_key: bytes
    kind: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes that mark its signatures."""
        return sha256(f"{self.name}\n".encode() + self.kind + self.public_key).digest()[:_ID_BYTES]

    @property
    def text(self) -> str:
        """The verifier key: name, key id and key."""
        return f"{self.name}+{self.key_id.hex()}+{b64encode(self.kind + self.public_key).decode()}"


def read_verifier_key(text: str, kind: bytes) -> VerifierKey:
    """The key in a text NAME+ID+KEY. Raises: NotAKey."""
    # The key is base64 and may have a plus sign of its own, a name has none.
    parts = text.split("+", _KEY_PARTS - 1)
    if len(parts) != _KEY_PARTS or not is_name(parts[0]):
        raise NotAKey("a verifier key is NAME+ID+KEY")
    try:
        raw = b64decode(parts[2], validate=True)
    except (BadBase64, ValueError):
        raise NotAKey("the key is not base64") from None
    if raw[:1] != kind or len(raw) != 1 + KEY_BYTES:
        raise NotAKey(f"the key is not an Ed25519 key of type {kind[0]}")
    key = VerifierKey(parts[0], raw[1:], kind)
    if key.text != text:
        raise NotAKey("the id is not that of name and key")
    require_usable(key.public_key)
    return key


def is_name(text: str) -> bool:
    """Whether a text can be the name of a signer: not empty, without blanks and plus signs."""
    usable = 0 < len(text) <= NAME_MAX_CHARACTERS and "+" not in text
    return usable and text.isprintable() and not any(character.isspace() for character in text)


def cosigned_message(text: str, timestamp: int) -> bytes:
    """What a witness signs of the text of a checkpoint."""
    return f"cosignature/v1\ntime {timestamp}\n{text}".encode()


def find_cosignature(lines: str, text: str, witness: VerifierKey) -> tuple[int, str] | None:
    """The time and the line of a valid cosignature by this witness over the text of a checkpoint."""
    for line in lines.split("\n")[:_LINES_MAX]:
        name, _, encoded = line.removeprefix(_PREFIX).rpartition(" ")
        if not line.startswith(_PREFIX) or name != witness.name:
            continue
        try:
            raw = b64decode(encoded, validate=True)
            timestamp = int.from_bytes(raw[_ID_BYTES : _ID_BYTES + _TIME_BYTES], "big")
            if raw[:_ID_BYTES] != witness.key_id or len(raw) != _ID_BYTES + _TIME_BYTES + _SIGNATURE_BYTES:
                continue
            Ed25519PublicKey.from_public_bytes(witness.public_key).verify(
                raw[_ID_BYTES + _TIME_BYTES :], cosigned_message(text, timestamp)
            )
        except (BadBase64, InvalidSignature, ValueError):
            continue
        return timestamp, line
    return None


def cosignature_line(witness: VerifierKey, timestamp: int, signature: bytes) -> str:
    """The line of a cosignature, without its line feed."""
    raw = witness.key_id + timestamp.to_bytes(_TIME_BYTES, "big") + signature
    return f"{_PREFIX}{witness.name} {b64encode(raw).decode()}"
