"""Filling an empty database from a backup, in the transaction of the caller."""

from collections.abc import AsyncIterator
from hashlib import sha256

import asyncpg

from hansa.foundation.plumbing.storage.migrate import renamed_sequences

from .archive import BadBackup, Reader, Table
from .reading import quoted, tables_of

_HOLDS_TABLES = """
SELECT EXISTS (SELECT FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
  AND relname <> 'alembic_version')
"""

_OWN_TRIGGERS = """
SELECT t.tgrelid::regclass::text AS relation, t.tgname::text AS name, t.tgenabled::text AS enabled
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace
"""
# A table with this column makes room for updates as rows are inserted, by triggers; while it is filled here, by its fill factor.
_ROOMY = """
SELECT c.relname AS name, (SELECT option_value FROM pg_options_to_table(c.reloptions) WHERE option_name = 'fillfactor')
  AS percent
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'page_room'
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
"""
_FILLED_PERCENT = 60
_ENABLE = {"O": "ENABLE", "A": "ENABLE ALWAYS", "R": "ENABLE REPLICA", "D": "DISABLE"}


async def require_empty(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Raises: BadBackup when there is any table."""
    if await connection.fetchval(_HOLDS_TABLES):
        raise BadBackup("the database is not empty; a backup is restored into an empty one only")


async def load(connection: "asyncpg.Connection[asyncpg.Record]", backup: Reader) -> None:
    """Fill the tables of a freshly migrated database. Raises: BadBackup."""
    present = await tables_of(connection)
    manifest = backup.manifest
    if {name: table.columns for name, table in manifest.tables.items()} != present:
        raise BadBackup("the backup's tables are not those of its schema; it was altered")
    # What guards and marks rows as they are written has marked these already.
    triggers = await connection.fetch(_OWN_TRIGGERS)
    for one in triggers:
        await connection.execute(f"ALTER TABLE {one['relation']} DISABLE TRIGGER {quoted(one['name'])}")
    await connection.execute(f"TRUNCATE {', '.join(map(quoted, present))}")
    roomy = await connection.fetch(_ROOMY)
    for table in roomy:
        await _fill_pages(connection, table["name"], _FILLED_PERCENT)
    for name in present:
        await _load_table(connection, backup, name, manifest.tables[name])
    for table in roomy:
        await _fill_pages(connection, table["name"], int(table["percent"]))
    for one in triggers:
        enable = _ENABLE[one["enabled"]]
        await connection.execute(f"ALTER TABLE {one['relation']} {enable} TRIGGER {quoted(one['name'])}")
    renamed = renamed_sequences()
    for name, value in manifest.sequences.items():
        present_name = renamed.get(name, name)
        await connection.execute("SELECT setval($1::text::regclass, $2)", quoted(present_name), value)


async def _fill_pages(connection: "asyncpg.Connection[asyncpg.Record]", table: str, percent: int) -> None:
    await connection.execute(f"ALTER TABLE {quoted(table)} SET (fillfactor = {percent})")


async def _load_table(
    connection: "asyncpg.Connection[asyncpg.Record]", backup: Reader, name: str, expected: Table
) -> None:
    digest = sha256()

    async def pieces() -> AsyncIterator[bytes]:
        for piece in backup.pieces(name):
            digest.update(piece)
            yield piece

    done = await connection.copy_to_table(name, source=pieces(), columns=expected.columns, format="text")
    if digest.hexdigest() != expected.sha256 or int(done.rpartition(" ")[2]) != expected.rows:
        raise BadBackup(f"the backup changed while it was read: {name}")
