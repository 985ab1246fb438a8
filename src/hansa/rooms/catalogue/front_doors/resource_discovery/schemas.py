"""Shapes of Agentic Resource Discovery, v0.91; names as that specification writes them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

BASE_CONTEXT = "https://agenticresourcediscovery.org/context/v1"
PAGE_MAX = 100
TEXT_MAX = 1000
TOKEN_MAX = 512


class InCamelCase(BaseModel):
    """A shape whose members are written in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class TrustManifest(InCamelCase):
    """Under which identity the agent proves itself."""

    identity: str
    identity_type: Literal["did", "spiffe"]


class Entry(InCamelCase):
    """One resource: exactly one of `url` and `data` leads to it."""

    context: str = Field(default=BASE_CONTEXT, alias="@context")
    identifier: str = Field(description="`urn:air:<trust domain>:<DID>` for an agent.")
    display_name: str
    type: str
    url: str | None = None
    data: dict[str, Any] | None = None
    description: str | None = None
    tags: list[str] | None = None
    capabilities: list[str] | None = None
    representative_queries: list[str] | None = None
    version: str | None = None
    updated_at: datetime | None = None
    metadata: dict[str, str] | None = None
    trust_manifest: TrustManifest | None = None


class Host(InCamelCase):
    """Who publishes a manifest."""

    display_name: str
    identifier: str
    documentation_url: str
    logo_url: str


class Manifest(InCamelCase):
    """What a domain offers; also of the form of the predecessor, `ai-catalog.json` 1.0."""

    spec_version: Literal["1.0"] = "1.0"
    host: Host
    entries: list[Entry]


class ListQuery(InCamelCase):
    """The query of the list of entries."""

    filter: str | None = Field(
        default=None,
        max_length=1000,
        description="`displayName`, `type`, `publisherId`, `createdAfter` and `updatedAfter`, joined by AND;"
        " a value may be several, separated by commas.",
        examples=["displayName = 'translator' AND createdAfter > '2026-01-01'"],
    )
    order_by: str | None = Field(
        default=None,
        max_length=64,
        description="`createdAt` or `updatedAt`, then `ASC` or `DESC`; without: `createdAt DESC`.",
    )
    page_size: int = Field(default=20, ge=1, le=PAGE_MAX)
    page_token: Annotated[str, Field(max_length=TOKEN_MAX)] | None = None


class ListOut(InCamelCase):
    """A page of entries; `pageToken` leads on, and is missing where the list ends."""

    items: list[Entry]
    page_token: str | None = None
