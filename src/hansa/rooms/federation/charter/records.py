"""The keys of the registry, as they are kept and as they sign."""

from dataclasses import dataclass, field
from datetime import datetime

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class RegistryKey(msgspec.Struct, frozen=True):
    """Public half of a key: its signatures count from `valid_from` until `retired_at`, if that has come."""

    sequence: int
    registry_id: str
    public_key: bytes
    valid_from: datetime
    retired_at: datetime | None

    @property
    def kid(self) -> str:
        """Name of the key in signatures."""
        return f"{self.registry_id}#{self.sequence}"


@dataclass(frozen=True)
class SealedKey:
    """The present key with its private half sealed, as read at the database's time `read_at`."""

    key: RegistryKey
    sealed: bytes = field(repr=False)
    read_at: datetime


@dataclass(frozen=True)
class SigningKey:
    """The present key, ready to sign, and the database's time when it was the present one."""

    kid: str
    sequence: int
    valid_from: datetime
    private: Ed25519PrivateKey = field(repr=False)
    now: datetime
