"""Servers as the MCP registry API shows them: names, versions and documents. No I/O.

- The name of a server is the trust domain in reverse, a slash, and the humanReadableId with a dot for its slash.
- A version is `1.0.<n>`; `n` is the version of the card's document.
- An agent has the remote at which this registry sells its skills; an imported server keeps the remotes and packages that it stated.
- A server that left the listing shows its name and the status `deleted`, and no text.
"""

import base64
import binascii
import json
import re
from typing import Any

from hansa.foundation.values.visible_text import legible
from hansa.rooms.catalogue.errors import CursorInvalid
from hansa.rooms.catalogue.rules import BIGINT_MAX

from .records import ServerVersion
from .schemas import OfficialMeta, ServerMeta, ServerOut, ServerResponse

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
LATEST = "latest"
TEXT_MAX = 100
"""Characters of a description and of a title in the format of servers."""
DELETED_TEXT = "Deleted."
STATED_MEMBERS = ("remotes", "packages", "repository", "websiteUrl")

_VERSION = re.compile(r"1\.0\.([1-9][0-9]{0,8})", re.ASCII)


def namespace_of(trust_domain: str) -> str:
    """Return the trust domain in reverse, as names of servers begin."""
    return ".".join(reversed(trust_domain.split(".")))


def document_version(text: str) -> int | None:
    """Return the version of a document that a version of a server names; None: it names none."""
    found = _VERSION.fullmatch(text)
    return int(found[1]) if found else None


def response_of(one: ServerVersion, trust_domain: str, base_url: str) -> ServerResponse:
    """Return one version of a server with the registry's statements about it."""
    namespace = namespace_of(trust_domain)
    server = ServerOut(
        schema_=SCHEMA,
        name=f"{namespace}/{one.human_readable_id.replace('/', '.')}",
        version=f"1.0.{one.version}",
        description=_cut(one.description or one.name) if one.is_shown else DELETED_TEXT,
    )
    if one.is_shown:
        server.title = _cut(one.name)
        _state(server, one, base_url)
    return ServerResponse(server=server, meta=_meta_of(one, namespace))


def encode_cursor(card_id: int) -> str:
    """Return the place of a reader after the server of this card."""
    return base64.urlsafe_b64encode(str(card_id).encode()).decode().rstrip("=")


def decode_cursor(text: str) -> int:
    """Return the card of the place that a reader brings back. Raises: CursorInvalid."""
    try:
        card_id = int(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        card_id = -1
    if not 0 <= card_id <= BIGINT_MAX:
        raise CursorInvalid(
            "Invalid cursor: use the `nextCursor` of a response of this listing.", field="cursor"
        )
    return card_id


def _state(server: ServerOut, one: ServerVersion, base_url: str) -> None:
    stated: dict[str, Any] = json.loads(one.mcp) if one.mcp else {}
    for member in STATED_MEMBERS:
        setattr(server, member, stated.get(member))
    if one.did is not None:
        sold = {"type": "streamable-http", "url": f"{base_url}/mcp/agents/{one.uuid}"}
        server.remotes = [sold, *(server.remotes or [])]


def _meta_of(one: ServerVersion, namespace: str) -> dict[str, Any]:
    official = OfficialMeta(
        status="active" if one.is_shown else "deleted",
        statusChangedAt=one.hidden_since or one.since,
        publishedAt=one.since,
        updatedAt=one.updated_at if one.version == one.newest else one.since,
        isLatest=one.version == one.newest,
    )
    own = ServerMeta(
        card_id=one.uuid,
        did=one.did,
        imported_name=one.mcp_name,
        namespace_verified=one.namespace_verified_at is not None if one.mcp_name else None,
    )
    return {
        "io.modelcontextprotocol.registry/official": official,
        f"{namespace}/card": own,
    }


def _cut(text: str) -> str:
    shown = " ".join(legible(text).split())
    return shown if len(shown) <= TEXT_MAX else f"{shown[: TEXT_MAX - 1].rstrip()}…"
