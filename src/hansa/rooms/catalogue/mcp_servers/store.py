"""Every SQL statement about MCP servers.

A server of the MCP registry API is a native card of an agent, or one that an MCP server was imported into. Of two cards whose names make
the same name of a server the older one has it.
"""

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.listing_store import SEARCH_SECONDS
from hansa.rooms.catalogue.signatures import TOMBSTONE_TIME

from .records import ServerVersion, Wanted

_IS_SHOWN = "c.is_active AND NOT c.unlisted AND c.status = 'active'"

# Reading a member of a document means reading the whole of it: those of the present one are columns.
_PRESENT = (
    "SELECT c.version, c.document_since AS since, c.name, c.description, c.card_data -> 'mcp_server' AS mcp"
)
_FORMER = f"""
SELECT v.version, v.valid_from, v.card_data ->> 'name', v.card_data ->> 'description', v.card_data -> 'mcp_server'
FROM catalogue_card_version v WHERE v.card_id = c.id AND {_IS_SHOWN}
"""  # noqa: S608

_SERVERS = f"""
SELECT c.id AS card_id, c.uuid, c.did, c.human_readable_id, c.mcp_name, c.namespace_verified_at, c.updated_at,
  c.hidden_since, c.version AS newest, {_IS_SHOWN} AS is_shown,
  d.version, d.since, d.name, d.description, d.mcp
FROM catalogue_card c CROSS JOIN LATERAL ({{documents}}) d
WHERE c.source_registry IS NULL AND NOT c.is_stub AND NOT c.is_erased AND (c.did IS NOT NULL OR c.mcp_name IS NOT NULL)
  AND ({_IS_SHOWN} OR ($1 AND c.hidden_since > now() - interval '{TOMBSTONE_TIME.days} days'))
  AND NOT EXISTS (SELECT FROM catalogue_card older WHERE older.source_registry IS NULL AND older.id < c.id
    AND replace(older.human_readable_id, '/', '.') = replace(c.human_readable_id, '/', '.'))
  AND {{which}}
"""  # noqa: S608

_LIST = """
c.id > $2 AND ($3::timestamptz IS NULL OR c.updated_at >= $3)
  AND ($4::text IS NULL OR $5 || replace(c.human_readable_id, '/', '.') LIKE $4)
ORDER BY c.id LIMIT $6
"""
_LIST_NEWEST = _SERVERS.format(documents=_PRESENT, which=_LIST)
_LIST_VERSION = _SERVERS.format(
    documents=f"{_PRESENT} WHERE c.version = $7 UNION ALL {_FORMER} AND v.version = $7", which=_LIST
)

_HISTORY = _SERVERS.format(
    documents=f"{_PRESENT} UNION ALL {_FORMER}",
    which="""
replace(c.human_readable_id, '/', '.') = $2 AND ($3::int IS NULL OR d.version = $3) ORDER BY d.version DESC
""",
)


_NOTE_IMPORT = """
UPDATE catalogue_card SET mcp_name = $2, tools_checked_at = NULL, namespace_verified_at = NULL WHERE id = $1
"""


async def note_import(tx: Tx, card_id: int, name: str) -> None:
    """Mark a card as that of the imported server with this name."""
    await tx.execute(_NOTE_IMPORT, card_id, name)


async def list_servers(tx: Tx, wanted: Wanted, namespace: str) -> list[ServerVersion]:
    """Return one version of each wanted server, the oldest card first. `namespace`: that of this registry, with its slash."""
    await tx.execute(f"SET LOCAL statement_timeout = '{SEARCH_SECONDS}s'")
    values = (
        wanted.with_deleted,
        wanted.after,
        wanted.updated_since,
        wanted.pattern,
        namespace,
        wanted.limit,
    )
    if wanted.version is None:
        return _versions(await tx.fetch(_LIST_NEWEST, *values))
    return _versions(await tx.fetch(_LIST_VERSION, *values, wanted.version))


async def versions_of_server(
    tx: Tx, name: str, version: int | None, *, with_deleted: bool
) -> list[ServerVersion]:
    """Return the versions of the server with this name below the namespace of the registry, the newest first, or one of them."""
    return _versions(await tx.fetch(_HISTORY, with_deleted, name, version))


def _versions(rows: list[asyncpg.Record]) -> list[ServerVersion]:
    return [ServerVersion(**row) for row in rows]
