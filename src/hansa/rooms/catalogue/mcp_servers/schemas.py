"""Shapes of the MCP registry API and of an import."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, model_validator

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.timestamps import ISO_ONLY
from hansa.foundation.values.web_address import URL_MAX_CHARACTERS
from hansa.rooms.catalogue.schemas import CURSOR_MAX, in_utc

from .records import ServerSource

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


class ImportIn(RequestBody):
    """An MCP server to import: its `server.json`, or the address that serves it."""

    model_config = ConfigDict(extra="forbid")

    server_json: Annotated[
        dict[str, Any] | None,
        Field(
            description="The server.json, or the entry of an MCP registry that has it.",
            examples=[
                {
                    "name": "com.example/lingua",
                    "description": "Translates texts.",
                    "version": "1.2.0",
                    "remotes": [{"type": "streamable-http", "url": "https://mcp.example.com/mcp"}],
                }
            ],
        ),
    ] = None
    url: Annotated[
        str | None,
        Field(
            max_length=URL_MAX_CHARACTERS,
            description="The https address of a server.json, read instead.",
            examples=["https://example.com/server.json"],
        ),
    ] = None
    agent_did: Annotated[
        str | None,
        Field(
            max_length=DID_MAX_CHARACTERS,
            description="An own agent whose card gets the interface; absent: a listing card is created.",
        ),
    ] = None
    dry_run: Annotated[StrictBool, Field(description="Only show the card that would be stored.")] = False

    @model_validator(mode="after")
    def _one_source(self) -> "ImportIn":
        if (self.server_json is None) == (self.url is None):
            raise ValueError("send either server_json or url")
        return self

    def source(self) -> ServerSource:
        """Return the source of the server."""
        return ServerSource(self.server_json, self.url)


class ImportPreviewOut(LazyModel):
    """An import that was not made: the document of the card, and the addresses that would be called."""

    name: str
    card_data: dict[str, Any]
    called: list[str] = Field(
        description="Addresses of remotes that become interfaces; others are only shown.",
        examples=[["https://mcp.example.com/mcp"]],
    )
    unverifiable: str | None = Field(
        description="Why no proof can verify the namespace; null: one can.",
        examples=["The namespace is neither the host of the remote nor its parent."],
    )
