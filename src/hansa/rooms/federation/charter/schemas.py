"""The registry's keys as they are published."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hansa.foundation.values.jwk import jwk_of
from hansa.foundation.values.lazy_model import LazyModel

from .records import RegistryKey

REASON_MAX_CHARACTERS = 2000
KEY_SET = "/.well-known/registry-jwks.json"


class RegistryJwk(LazyModel):
    """A public key of the registry."""

    kty: Literal["OKP"] = "OKP"
    crv: Literal["Ed25519"] = "Ed25519"
    x: str
    kid: str
    use: Literal["sig"] = "sig"
    alg: Literal["EdDSA"] = "EdDSA"


class PublishedRegistryJwk(RegistryJwk):
    """A public key of the registry, and when it was retired."""

    retired_at: datetime | None = Field(
        default=None,
        description="When the key was retired; what it signed before stays valid. Absent while the key is current.",
    )

    @classmethod
    def of(cls, key: RegistryKey) -> "PublishedRegistryJwk":
        """The key as the key set shows it."""
        return cls(x=jwk_of(key.public_key)["x"], kid=key.kid, retired_at=key.retired_at)


class RegistryJwks(LazyModel):
    """The keys that currently verify signatures of the registry."""

    keys: list[PublishedRegistryJwk]

    @classmethod
    def of(cls, keys: list[RegistryKey]) -> "RegistryJwks":
        """The key set."""
        return cls(keys=[PublishedRegistryJwk.of(key) for key in keys])


class PastRegistryJwk(RegistryJwk):
    """A key with its validity: signatures made within it stay valid."""

    valid_from: datetime
    retired_at: datetime | None = Field(description="Null for the current key.")

    @classmethod
    def of(cls, key: RegistryKey) -> "PastRegistryJwk":
        """The key as the history shows it."""
        return cls(
            x=jwk_of(key.public_key)["x"], kid=key.kid, valid_from=key.valid_from, retired_at=key.retired_at
        )


class RegistryKeyHistory(LazyModel):
    """Keys of the registry with their validity, newest first."""

    keys: list[PastRegistryJwk]

    @classmethod
    def of(cls, keys: list[RegistryKey]) -> "RegistryKeyHistory":
        """The history."""
        return cls(keys=[PastRegistryJwk.of(key) for key in keys])


class RegistryKeyRotationIn(LazyModel):
    """Why the key is rotated; kept in the audit log."""

    reason: Annotated[str, Field(min_length=1, max_length=REASON_MAX_CHARACTERS)] | None = None


class RotatedKey(RegistryJwk):
    """The new signing key of the registry, in use from `valid_from` on."""

    valid_from: datetime
    jwks_url: str = Field(default=KEY_SET, description="The path of the key set at this registry.")

    @classmethod
    def of(cls, key: RegistryKey) -> "RotatedKey":
        """The key as the administrator reads it."""
        return cls(x=jwk_of(key.public_key)["x"], kid=key.kid, valid_from=key.valid_from)
