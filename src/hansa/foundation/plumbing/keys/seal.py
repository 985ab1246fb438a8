"""Secrets that the registry must be able to read again: sealed with AES-GCM under a key that is not in the database.

Columns of sealed secrets, as their rooms declare them, and how they are sealed anew under another sealing key.

Secrets sealed for minutes or a day beside a request (kept answers, links, form keys) have no column here: they expire.
"""

import hmac
import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.storage.database import Tx

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


class SealedColumn(msgspec.Struct, frozen=True):
    """A column of a table; `purpose` gives the sealing purpose of a row's value, from its key in the column `key`."""

    table: str
    key: str
    column: str
    purpose: Callable[[Any], str]


class Resealed(msgspec.Struct, frozen=True):
    """How many values were sealed anew, and how many did not open and stay as they are."""

    resealed: int = 0
    unreadable: int = 0


async def seal_anew(tx: Tx, columns: Iterable[SealedColumn], former: Seal, new: Seal) -> Resealed:
    """Seal every value of these columns under the new key. No process of the registry runs meanwhile."""
    resealed = unreadable = 0
    for one in columns:
        await tx.execute(f"LOCK TABLE {one.table} IN SHARE ROW EXCLUSIVE MODE")
        rows = await tx.fetch(
            f"SELECT {one.key} AS key, {one.column} AS sealed FROM {one.table} WHERE {one.column} IS NOT NULL"  # noqa: S608
        )
        changed: list[tuple[Any, bytes]] = []
        for row in rows:
            purpose = one.purpose(row["key"])
            try:
                changed.append((row["key"], new.close(former.open(row["sealed"], purpose), purpose)))
            except BadSeal:
                unreadable += 1
        await tx.executemany(f"UPDATE {one.table} SET {one.column} = $2 WHERE {one.key} = $1", changed)  # noqa: S608
        resealed += len(changed)
    return Resealed(resealed, unreadable)
