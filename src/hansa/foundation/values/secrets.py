"""Random secrets: made from the system's entropy, shown once, kept only as SHA-256.

They carry 256 bits (recovery keys, typed by people, carry 96), so a fast hash is enough and lookups are by hash.
"""

import secrets
from hashlib import sha256

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def new_hex(prefix: str, digits: int = 64) -> str:
    """`prefix` followed by random hex digits."""
    return prefix + secrets.token_hex(digits // 2)


def new_name(prefix: str, length: int = 16) -> str:
    """`prefix` followed by random lower-case letters and digits."""
    return prefix + "".join(secrets.choice(ALPHABET) for _ in range(length))


def fingerprint(secret: str) -> bytes:
    """Hash that is stored and looked up in place of the secret."""
    return sha256(secret.encode()).digest()
