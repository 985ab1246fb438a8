"""Secrets that the registry must be able to read again: sealed with AES-GCM under a key that is not in the database."""

import hmac
import os
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hansa.foundation.plumbing.keys.key_files import Keyring

KEY_NAME = "sealing-key"
NONCE_BYTES = 12


class BadSeal(Exception):
    """Something was sealed under another key, for another purpose, or has been changed since."""


class Seal:
    """Seals and opens under the key of one data directory."""

    def __init__(self, keys: Keyring | str) -> None:
        """The sealing key is that of the data directory; a text is the key itself."""
        secret = keys if isinstance(keys, str) else keys.secret(KEY_NAME)
        self._key = sha256(f"{KEY_NAME} {secret}".encode()).digest()
        self._cipher = AESGCM(self._key)

    def close(self, secret: bytes, purpose: str) -> bytes:
        """The sealed secret, which opens for the same purpose only."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, secret, purpose.encode())

    def open(self, sealed: bytes, purpose: str) -> bytes:
        """Return the secret that was sealed for this purpose. Raises: BadSeal."""
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], purpose.encode())
        except (InvalidTag, ValueError):
            raise BadSeal(f"What was sealed for {purpose!r} does not open with the key {KEY_NAME}.") from None

    def close_under(self, key: str, secret: bytes, purpose: str) -> bytes:
        """Seal a secret, like `close`, under a key derived from this text as well: without the text it does not open."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._under(key).encrypt(nonce, secret, purpose.encode())

    def open_under(self, key: str, sealed: bytes, purpose: str) -> bytes:
        """Return the secret that was sealed under this text for this purpose. Raises: BadSeal."""
        try:
            return self._under(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], purpose.encode())
        except (InvalidTag, ValueError):
            raise BadSeal(f"What was sealed for {purpose!r} does not open with the key {KEY_NAME}.") from None

    def _under(self, text: str) -> AESGCM:
        return AESGCM(hmac.digest(self._key, text.encode(), "sha256"))
