"""Databases of registries of earlier tests, brought back to what founding left and used again with their connections.

A copy of a founded database and its end cost the server as much as a test does, and new connections plan every statement
anew. What a database holds after `KeptDatabase.restore` is what it held when it was copied:

- Every table has its founded rows, and every sequence its founded value.
- A database whose schema a test changed is dropped, as is one whose connections are still in use.
- Connections that a test opened for itself are ended.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Self

import asyncpg

from hansa.foundation.plumbing.database import Database

USES_MAX = 60
"""Rows that were deleted stay in their files; after so many tests a new copy is cheaper."""
KEPT_MAX = 2
RESTORING = {
    "session_replication_role": "replica",
    "lock_timeout": "2s",
    "application_name": "tests: restore",
}
"""Triggers and foreign keys do not apply to what is restored."""
AS_NEW = "RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES; CLOSE ALL"

TABLES = """
    SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
    ORDER BY c.oid
"""
SEQUENCES = """
    SELECT format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value), last_value IS NOT NULL
    FROM pg_sequences ORDER BY 1
"""
# Each change of a catalog leaves a row with a newer transaction; what belongs to the system never changes.
SCHEMA = " UNION ALL ".join(
    f"SELECT count(*), sum(xmin::text::bigint)::bigint FROM {catalog} WHERE {owner} >= 16384"
    for catalog, owner in [
        ("pg_class", "oid"),
        ("pg_attribute", "attrelid"),
        ("pg_attrdef", "oid"),
        ("pg_constraint", "oid"),
        ("pg_index", "indexrelid"),
        ("pg_proc", "proname <> 'empty_tables' AND oid"),
        ("pg_trigger", "oid"),
        ("pg_type", "oid"),
        ("pg_rewrite", "oid"),
    ]
)
STRANGERS = """
    SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> ALL($1::int[])
"""


@dataclass(frozen=True)
class Table:
    """A table that holds rows itself; partitioned ones are their partitions."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f'"{self.schema}"."{self.name}"'

    async def rows(self, connection: "asyncpg.Connection[asyncpg.Record]") -> bytes:
        rows = BytesIO()
        await connection.copy_from_table(self.name, schema_name=self.schema, output=rows, format="binary")
        return rows.getvalue()


@dataclass(frozen=True)
class Filled:
    """A table with rows that founding wrote."""

    table: Table
    count: int
    rows: bytes

    async def fill(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        """Write the rows into the table, which is empty."""
        table = self.table
        await connection.copy_to_table(
            table.name, schema_name=table.schema, source=BytesIO(self.rows), format="binary"
        )


@dataclass(frozen=True)
class FoundedContent:
    """What a founded database holds."""

    schema: list[tuple[Any, ...]]
    tables: list["Table"]
    filled: dict[str, "Filled"]
    sequences: dict[str, tuple[int, bool]]
    newest: str
    """A transaction that began when all of this was there."""

    @classmethod
    async def of(cls, dsn: str) -> Self:
        """Read it."""
        connection = await asyncpg.connect(dsn)
        try:
            tables = [Table(*names) for names in await connection.fetch(TABLES)]
            filled = {}
            for table in tables:
                count = await connection.fetchval(f"SELECT count(*) FROM ONLY {table}")
                if count:
                    filled[str(table)] = Filled(table, count, await table.rows(connection))
            sequences = {name: (value, used) for name, value, used in await connection.fetch(SEQUENCES)}
            schema = [tuple(row) for row in await connection.fetch(SCHEMA)]
            newest = await connection.fetchval("SELECT pg_current_xact_id()::xid::text")
        finally:
            await connection.close()
        return cls(schema, tables, filled, sequences, newest)

    @property
    def emptying(self) -> str:
        """The statement that makes a function which deletes what founding did not write, and names the tables to fill."""
        steps = []
        for table in self.tables:
            if found := self.filled.get(str(table)):
                changed = f"count(*) <> {found.count} OR bool_or(age(xmin) < age(newest))"
                steps.append(
                    f"IF (SELECT {changed} FROM ONLY {table}) THEN DELETE FROM ONLY {table};"
                    f" to_fill := array_append(to_fill, '{table}'); END IF;"
                )
            else:
                size = f"pg_relation_size('{table}')"
                steps.append(f"IF {size} > 0 THEN DELETE FROM ONLY {table}; END IF;")
        body = "\n".join(steps)
        return (
            "CREATE FUNCTION pg_temp.empty_tables(newest xid) RETURNS text[] LANGUAGE plpgsql AS $$\n"
            f"DECLARE to_fill text[] := '{{}}';\nBEGIN\n{body}\nRETURN to_fill;\nEND $$"
        )


async def is_idle(pool: "asyncpg.Pool[asyncpg.Record]") -> bool:
    """Whether all connections are back within a second, as a statement of the last registry may just end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            while pool.get_idle_size() != pool.get_size():  # noqa: ASYNC110
                await asyncio.sleep(0.002)
            return True
    return False


class KeptDatabase:
    """One database of a registry, which its tests use one after the other."""

    def __init__(self, database: Database, content: FoundedContent) -> None:
        self.database = database
        self.uses = 1
        self._content = content
        self._newest = content.newest
        self._restorer: asyncpg.Connection[asyncpg.Record] | None = None

    async def end_test(self) -> bool:
        """End what the last test left connected. Returns whether the database can be used again."""
        pool = self.database._pool
        if (
            pool is None
            or self.uses >= USES_MAX
            or pool._connection_class is not asyncpg.Connection
            or not await is_idle(pool)
        ):
            return False
        # What the last registry still does finds its connection closed.
        ended, self.database = self.database, Database(self.database.dsn, pool_size=self.database._pool_size)
        self.database._pool, ended._pool = pool, None
        self.database._interrupted = ended._interrupted
        try:
            connections = [await pool.acquire() for _ in range(pool.get_size())]
            own = [connection.get_server_pid() for connection in connections]
            for connection in connections:
                await connection.execute(AS_NEW)
                await pool.release(connection)
            restorer = await self._connected()
            await restorer.fetch(STRANGERS, [*own, restorer.get_server_pid()])
            return [tuple(row) for row in await restorer.fetch(SCHEMA)] == self._content.schema
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            return False

    async def restore(self) -> None:
        """Bring back what founding left."""
        restorer = await self._connected()
        async with restorer.transaction():
            to_fill = await restorer.fetchval("SELECT pg_temp.empty_tables($1::text::xid)", self._newest)
            for table in to_fill:
                await self._content.filled[table].fill(restorer)
            self._newest = await restorer.fetchval("SELECT pg_current_xact_id()::xid::text")
            for name, value, used in await restorer.fetch(SEQUENCES):
                if self._content.sequences[name] != (value, used):
                    await restorer.execute(
                        "SELECT setval($1::text::regclass, $2, $3)", name, *self._content.sequences[name]
                    )
        self.uses += 1

    async def close(self) -> None:
        if self._restorer is not None:
            await self._restorer.close()
        await self.database.close()

    async def _connected(self) -> "asyncpg.Connection[asyncpg.Record]":
        if self._restorer is None:
            self._restorer = await asyncpg.connect(self.database.dsn, server_settings=RESTORING)
            await self._restorer.execute(self._content.emptying)
        return self._restorer
