"""The registry's keys as they are published.

Shapes of the registry card over HTTP. Its strict form is the JSON Schema at `/.well-known/registry-card-schema.json`.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from hansa.foundation.values.jwk import jwk_of
from hansa.foundation.values.lazy_model import LazyModel

from .card_paths import EDITABLE_BLOCKS
from .card_store import CardVersion, WrittenCard
from .records import RegistryKey

REASON_MAX_CHARACTERS = 2000
KEY_SET = "/.well-known/registry-jwks.json"
Block = dict[str, Any]


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


class RegistryCard(LazyModel):
    """The signed self-description of a registry, version 0.6."""

    model_config = ConfigDict(extra="forbid")

    registry_card_version: Literal["0.6"]
    identity: Block
    operator: Block | None = None
    description: str | None = None
    tags: list[str] | None = None
    visual: Block | None = None
    capabilities: Block
    fees: Block
    federation: Block
    policy: Block | None = None
    economic: Block | None = None
    stats: Block | None = None
    endpoints: Block | None = None
    links: list[Block] | None = None
    commitments: list[Block] | None = None
    lifecycle: Block
    compliance: Block | None = None
    signature: Block


class RegistryCardSchema(LazyModel):
    """A JSON Schema, draft 2020-12."""

    model_config = ConfigDict(extra="allow")

    type: Literal["object"]
    properties: Block


class RegistryCardIn(LazyModel):
    """The blocks to replace; null removes a block, an absent one stays."""

    model_config = ConfigDict(extra="allow")

    description: Any = Field(default=None, description="Text of at most 2000 characters.")
    tags: Any = Field(default=None, description="Up to 20 texts of at most 48 characters.")
    operator: Any = Field(default=None, description="Who runs the registry.")
    visual: Any = Field(default=None, description="How the registry is shown; the icon is uploaded apart.")
    links: Any = Field(default=None, description="Up to 20 of {title, url}.")
    commitments: Any = Field(default=None, description="Up to 20 of {title, text, url?}.")


class RegistryCardEdited(LazyModel):
    """What the operator wrote, and the published version."""

    editable: Block = Field(description="The blocks as they are; absent ones are not written.")
    editable_blocks: list[str] = Field(default=list(EDITABLE_BLOCKS))
    version: int = Field(description="The number of the published version.")
    card_etag: str
    kid: str
    signed_at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, written: WrittenCard, version: CardVersion) -> "RegistryCardEdited":
        """Return the view for an administrator."""
        return cls(
            editable=written.editable,
            version=version.version,
            card_etag=version.card_etag,
            kid=version.kid,
            signed_at=version.signed_at,
            expires_at=version.expires_at,
        )
