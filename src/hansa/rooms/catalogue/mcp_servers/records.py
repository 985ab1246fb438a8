"""Servers as they are imported and as the MCP registry API reads them."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec


class ServerVersion(msgspec.Struct, frozen=True):
    """One version of a server; `mcp` is that member of its document, as JSON text."""

    card_id: int
    uuid: UUID
    did: str | None
    human_readable_id: str
    mcp_name: str | None
    namespace_verified_at: datetime | None
    updated_at: datetime
    hidden_since: datetime | None
    newest: int
    is_shown: bool
    version: int
    since: datetime
    name: str
    description: str | None
    mcp: str | None


class Wanted(msgspec.Struct, frozen=True):
    """Servers that a reader wants: `pattern` is one of LIKE for whole names, `version` a number of a document; None: the newest."""

    limit: int
    after: int = 0
    updated_since: datetime | None = None
    pattern: str | None = None
    version: int | None = None
    with_deleted: bool = False


class ServerSource(msgspec.Struct, frozen=True):
    """A `server.json`, or the address at which it is served: one of the two."""

    server_json: dict[str, Any] | None
    url: str | None
