"""Reading every table of a database in one snapshot, without keeping a table in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256

import asyncpg

from hansa.foundation.plumbing.storage.database import OUT_OF_REACH
from hansa.foundation.values.errors import Unavailable

from .archive import PIECE_BYTES, Table, Writer

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


@asynccontextmanager
async def connect(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection without the time limits of requests. Raises: Unavailable."""
    try:
        connection = await asyncpg.connect(dsn, server_settings=SESSION, command_timeout=None)
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
