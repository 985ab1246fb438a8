"""Shapes of the MCP registry API and of an import."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.timestamps import ISO_ONLY
from hansa.rooms.catalogue.schemas import CURSOR_MAX, in_utc

VERSION_MAX_CHARACTERS = 255


class ServersQuery(LazyModel):
    """The query of the list of servers."""

    cursor: str | None = Field(
        default=None, max_length=CURSOR_MAX, description="The `nextCursor` of the previous page."
    )
    limit: int = Field(default=30, ge=1, le=100)
    search: str | None = Field(
        default=None, min_length=1, max_length=200, description="Text in the name, case-insensitive."
    )
    updated_since: Annotated[datetime, ISO_ONLY, AfterValidator(in_utc)] | None = Field(
        default=None,
        description="Changed at or after this time, deleted servers included; without a zone: UTC.",
    )
    version: str | None = Field(
        default=None,
        max_length=VERSION_MAX_CHARACTERS,
        description="`latest`, which is the default, or an exact version such as `1.0.2`.",
    )
    include_deleted: bool = Field(
        default=False, description="Also servers that left the listing in the last 30 days."
    )


class _Aliased(LazyModel):
    model_config = ConfigDict(validate_by_name=True)


class ServerOut(_Aliased):
    """A server in the format of the MCP registry."""

    schema_: str = Field(
        alias="$schema",
        examples=["https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"],
    )
    name: str = Field(
        description="`<trust domain in reverse>/<org>.<name>`.", examples=["local.hansa/example.lingua"]
    )
    description: str = Field(description="At most 100 characters.")
    title: str | None = None
    version: str = Field(description="`1.0.<n>`: the version of the card.", examples=["1.0.3"])
    repository: dict[str, Any] | None = Field(
        default=None, examples=[{"url": "https://code.example.com/lingua", "source": "git"}]
    )
    websiteUrl: str | None = Field(default=None, examples=["https://lingua.example.com"])  # noqa: N815
    remotes: list[dict[str, Any]] | None = Field(
        default=None,
        description="Addresses of the server; of an agent first the one at this registry.",
        examples=[[{"type": "streamable-http", "url": "https://registry.example/mcp/agents/17"}]],
    )
    packages: list[dict[str, Any]] | None = Field(
        default=None,
        description="Packages that an imported server states; the registry runs none.",
        examples=[[{"registryType": "npm", "identifier": "lingua", "transport": {"type": "stdio"}}]],
    )


class OfficialMeta(LazyModel):
    """Place of a version in its life, in the words of the MCP registry API."""

    status: Literal["active", "deleted"]
    statusChangedAt: datetime  # noqa: N815
    publishedAt: datetime  # noqa: N815
    updatedAt: datetime  # noqa: N815
    isLatest: bool  # noqa: N815


class ServerMeta(LazyModel):
    """Card of a server at this registry."""

    card_id: UUID
    did: str | None = None
    imported_name: str | None = Field(
        default=None, description="Name under which an imported server states itself."
    )
    namespace_verified: bool | None = Field(
        default=None, description="Whether the domain of the imported name holds the proof of this card."
    )


class ServerResponse(_Aliased):
    """A version of a server, and the registry's statements about it."""

    server: ServerOut
    meta: dict[str, OfficialMeta | ServerMeta] = Field(
        alias="_meta",
        description="By reversed domain name: the life of the version, and its card.",
        examples=[
            {
                "local.hansa/card": {
                    "card_id": "9b2f3c1e-6d0a-4f3e-8a55-2f1c7d9e4b10",
                    "imported_name": "com.example/lingua",
                    "namespace_verified": True,
                }
            }
        ],
    )


class ListMetadata(LazyModel):
    """Place of a page in its list; the last page has no `nextCursor`."""

    count: int
    nextCursor: str | None = Field(default=None, examples=["MTc"])  # noqa: N815


class ServerList(LazyModel):
    """A page of servers, or the versions of one."""

    servers: list[ServerResponse]
    metadata: ListMetadata
