"""Checkpoints as signed notes (C2SP signed-note and tlog-checkpoint), Ed25519 alone."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ED25519 = b"\x01"
KEY_ID_BYTES = 4
LOG = "/log"


def origin_of(frame: str) -> str:
    """The name of the log of a frame, which is also the name of its signer."""
    return f"{frame}{LOG}"


def frame_of(origin: str) -> str:
    """The frame of the log of this name."""
    return origin.removesuffix(LOG)


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    """Return the text that is signed."""
    return f"{origin}\n{size}\n{b64encode(root).decode()}\n"


def signed_note(text: str, name: str, keys: Sequence[Ed25519PrivateKey]) -> str:
    """The text with a signature line of each key."""
    lines = (f"\u2014 {name} {_signature(text, name, key)}\n" for key in keys)
    return f"{text}\n{''.join(lines)}"


def _signature(text: str, name: str, key: Ed25519PrivateKey) -> str:
    public_key = key.public_key().public_bytes_raw()
    key_id = sha256(f"{name}\n".encode() + ED25519 + public_key).digest()[:KEY_ID_BYTES]
    return b64encode(key_id + key.sign(text.encode())).decode()
