"""Sealed bytes: AES-256-GCM under a key derived with HKDF-SHA256.

- A stored answer is sealed under its token, which the store does not hold: only the holder of the token can read it.
- A token whose payment the service still has to capture is sealed under the service's own secret.
"""

import hashlib
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

NONCE_BYTES = 12
ANSWER_PURPOSE = b"hansa paid call: answer"
TOKEN_PURPOSE = b"hansa paid call: token"


class NotSealedByThis(Exception):
    """The bytes were sealed under another secret, or were changed."""


def hash_of(token: str) -> str:
    """The name of a token in the store."""
    return hashlib.sha256(token.encode()).hexdigest()


def seal(secret: str, purpose: bytes, clear: bytes, about: str) -> bytes:
    """`clear`, sealed; `about` is authenticated with it."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(_key(secret, purpose)).encrypt(nonce, clear, about.encode())


def unseal(secret: str, purpose: bytes, sealed: bytes, about: str) -> bytes:
    """The clear bytes. Raises: NotSealedByThis."""
    nonce, encrypted = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
    try:
        return AESGCM(_key(secret, purpose)).decrypt(nonce, encrypted, about.encode())
    except InvalidTag:
        raise NotSealedByThis("sealed under another secret, or changed") from None


def _key(secret: str, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())
