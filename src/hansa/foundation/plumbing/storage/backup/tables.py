"""Reading every table of a database in one snapshot, without holding a table in memory; filling an empty database from a backup."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256

import asyncpg

from hansa.foundation.plumbing.storage.database import OUT_OF_REACH
from hansa.foundation.plumbing.storage.hosts import connect_to_writer
from hansa.foundation.plumbing.storage.migrate import renamed_sequences
from hansa.foundation.values.errors import Unavailable

from .archive import PIECE_BYTES, BadBackup, Reader, Table, Writer

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

# A backup takes as long as it takes; text is read back as it was written whatever the server's defaults are.
SESSION = {
    "application_name": "hansa backup",
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "statement_timeout": "0",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "0",
}
# Unlogged tables hold nothing that outlives a crash. What says which schema and which SQL files were applied is true of
# this database only. Referenced tables come before those that refer to them.
_TABLES = """
WITH RECURSIVE kept AS (
  SELECT oid, relname FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relpersistence = 'p' AND relname NOT IN ('alembic_version', 'plumbing_sql_file')
), depth AS (
  SELECT oid, 0 AS level FROM kept
  UNION SELECT c.conrelid, d.level + 1 FROM depth d
    JOIN pg_constraint c ON c.contype = 'f' AND c.confrelid = d.oid AND c.conrelid <> d.oid
  WHERE d.level < 100
)
SELECT k.relname AS name, ARRAY(
  SELECT attname::text FROM pg_attribute
  WHERE attrelid = k.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
) AS columns
FROM kept k JOIN depth d USING (oid) GROUP BY k.oid, k.relname ORDER BY max(d.level), k.relname
"""
_SEQUENCES = """
SELECT sequencename::text AS name, last_value FROM pg_sequences
WHERE schemaname = current_schema() AND last_value IS NOT NULL ORDER BY sequencename
"""


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


@asynccontextmanager
async def connect(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection without the time limits of requests. Raises: Unavailable."""
    try:
        connection, _ = await connect_to_writer(dsn, server_settings=SESSION, command_timeout=None)
    except OUT_OF_REACH as error:
        raise Unavailable(f"The database cannot be reached: {type(error).__name__}.") from error
    try:
        yield connection
    finally:
        await connection.close()


async def tables_of(connection: "asyncpg.Connection[asyncpg.Record]") -> dict[str, list[str]]:
    """The columns of each table that a backup holds, in an order in which they can be filled."""
    return {row["name"]: row["columns"] for row in await connection.fetch(_TABLES)}


async def read_tables(
    connection: "asyncpg.Connection[asyncpg.Record]", writer: Writer
) -> tuple[dict[str, Table], dict[str, int]]:
    """Write the content of every table that the transaction sees; returns the tables written, and the sequences.

    Sequences are read afterwards: they are never behind the rows.
    """
    read = {
        name: await _read_table(connection, writer, name, columns)
        for name, columns in (await tables_of(connection)).items()
    }
    sequences = {row["name"]: row["last_value"] for row in await connection.fetch(_SEQUENCES)}
    return read, sequences


async def _read_table(
    connection: "asyncpg.Connection[asyncpg.Record]", writer: Writer, name: str, columns: list[str]
) -> Table:
    digest, size, buffer = sha256(), 0, bytearray()

    def flush() -> None:
        if buffer:
            writer.piece(name, bytes(buffer))
            buffer.clear()

    async def take(content: bytes) -> None:
        nonlocal size
        digest.update(content)
        size += len(content)
        buffer.extend(content)
        if len(buffer) >= PIECE_BYTES:
            flush()

    shown = ", ".join(map(quoted, columns))
    # A query, because the rows of a partitioned table cannot be copied otherwise.
    done = await connection.copy_from_query(f"SELECT {shown} FROM {quoted(name)}", output=take, format="text")  # noqa: S608
    flush()
    return Table(columns=columns, rows=int(done.rpartition(" ")[2]), bytes=size, sha256=digest.hexdigest())


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'
