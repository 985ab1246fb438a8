"""Shapes of the registry card over HTTP. Its strict form is the JSON Schema at `/.well-known/registry-card-schema.json`."""

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from hansa.foundation.values.lazy_model import LazyModel

from .card_paths import EDITABLE_BLOCKS
from .card_store import CardVersion, WrittenCard

Block = dict[str, Any]


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
