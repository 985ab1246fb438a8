"""Databases of registries of earlier tests, restored to their founded content and used again with their connections.

A copy of a founded database and its end cost the server as much as a test does, and new connections plan every statement
anew. After `KeptDatabase.restore` a database holds the same as when it was copied:

- Every table has its founded rows, and every sequence its founded value.
- A database whose schema a test changed is dropped, as is one whose connections are still in use.
- Connections that a test opened for itself are ended.

The server counts the rows that each connection writes, in the catalogs as well. Before a database is used again every connection
has reported its counts: only tables whose count has changed are restored, and the schema is compared only if that of a catalog has.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import asyncpg

from hansa.foundation.plumbing.storage.connection import DatabaseConnection
from hansa.foundation.plumbing.storage.database import Database

USES_MAX = 60
"""Rows that were deleted stay in their files; after so many tests a new copy is cheaper."""
KEPT_MAX = 4
RESTORING = {
    "session_replication_role": "replica",
    "lock_timeout": "2s",
    "application_name": "tests: restore",
    "track_counts": "off",
    "stats_fetch_consistency": "none",
}
"""Triggers and foreign keys do not apply to what is restored, and it is not counted."""
AS_NEW = (
    "RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES; CLOSE ALL;"
    " SELECT pg_stat_force_next_flush()"
)

TABLES = """
    SELECT n.nspname, c.relname, c.oid, ARRAY(
      SELECT quote_ident(attname) FROM pg_attribute
      WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
    ) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
    ORDER BY c.oid
"""
SEQUENCES = """
    SELECT seqrelid, seqstart, pg_sequence_last_value(seqrelid)
    FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid WHERE c.relpersistence <> 't' ORDER BY 1
"""
# How many rows were written in each of these tables, and how far each of these sequences is, in the given order.
WRITTEN = """
    SELECT array_agg(
      pg_stat_get_tuples_inserted(oid) + pg_stat_get_tuples_updated(oid) + pg_stat_get_tuples_deleted(oid) ORDER BY place
    ) FROM unnest($1::oid[]) WITH ORDINALITY AS given (oid, place)
"""
LAST_VALUES = """
    SELECT array_agg(pg_sequence_last_value(oid) ORDER BY place) FROM unnest($1::oid[]) WITH ORDINALITY AS given (oid, place)
"""
SET_VALUES = """
    SELECT setval(oid::regclass, value, used) FROM unnest($1::oid[], $2::bigint[], $3::bool[]) AS given (oid, value, used)
"""
# Each change of a catalog leaves a row with a newer transaction; what belongs to the system never changes.
CATALOGS = {
    "pg_class": "oid",
    "pg_attribute": "attrelid",
    "pg_attrdef": "oid",
    "pg_constraint": "oid",
    "pg_index": "indexrelid",
    "pg_proc": "proname <> 'restore_tables' AND oid",
    "pg_trigger": "oid",
    "pg_type": "oid",
    "pg_rewrite": "oid",
}
SCHEMA = " UNION ALL ".join(
    f"SELECT count(*), sum(xmin::text::bigint)::bigint FROM {catalog} WHERE {owner} >= 16384"
    for catalog, owner in CATALOGS.items()
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
    oid: int
    columns: list[str]
    """Those that are written, quoted."""

    def __str__(self) -> str:
        return f'"{self.schema}"."{self.name}"'


@dataclass(frozen=True)
class Sequence:
    """A sequence and the last value that it gave, None before the first."""

    oid: int
    start: int
    last: int | None


@dataclass(frozen=True)
class FoundedContent:
    """Content of a founded database."""

    schema: list[tuple[Any, ...]]
    catalogs: list[int]
    tables: list[Table]
    rows: list[str | None]
    """Those of each table, an array as a literal; None where it is empty."""
    sequences: list[Sequence]

    @classmethod
    async def of(cls, dsn: str) -> Self:
        """Read it."""
        connection = await asyncpg.connect(dsn)
        try:
            tables = [Table(*names) for names in await connection.fetch(TABLES)]
            rows = ", ".join(f"(SELECT quote_literal(array_agg(t)) FROM ONLY {table} t)" for table in tables)
            return cls(
                schema=[tuple(row) for row in await connection.fetch(SCHEMA)],
                catalogs=await connection.fetchval("SELECT $1::text[]::regclass[]::oid[]", list(CATALOGS)),
                tables=tables,
                rows=await connection.fetchval(f"SELECT ARRAY[{rows}]"),
                sequences=[Sequence(*row) for row in await connection.fetch(SEQUENCES)],
            )
        finally:
            await connection.close()

    @property
    def counted(self) -> list[int]:
        """The catalogs and tables whose written rows are counted."""
        return [*self.catalogs, *(table.oid for table in self.tables)]

    @property
    def restoring(self) -> str:
        """The statement that makes a function which restores the tables at these places; it plans each step once."""
        steps = "\n".join(
            f"IF {place} = ANY (places) THEN\n{self._restoring(table, rows)} END IF;"
            for place, (table, rows) in enumerate(zip(self.tables, self.rows, strict=True))
        )
        return (
            "CREATE FUNCTION pg_temp.restore_tables(places int[]) RETURNS void LANGUAGE plpgsql AS"
            f" $function$ BEGIN\n{steps}\nEND $function$"
        )

    @staticmethod
    def _restoring(table: Table, rows: str | None) -> str:
        emptying = f"DELETE FROM ONLY {table};"
        if rows is None:
            return emptying
        columns, values = ", ".join(table.columns), ", ".join(f"(t).{column}" for column in table.columns)
        return (
            f"{emptying} INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE"
            f" SELECT {values} FROM unnest({rows}::{table}[]) t;"
        )


async def is_idle(pool: "asyncpg.Pool[asyncpg.Record]") -> bool:
    """Return whether all connections are back within a second, as a statement of the last registry may just end."""
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
        self._written = [0] * len(content.counted)
        self._changed: list[int] = []
        """The places of the tables that the last test wrote in."""
        self._restorer: asyncpg.Connection[asyncpg.Record] | None = None

    async def end_test(self) -> bool:
        """End the connections that the last test left. Return whether the database can be used again."""
        pool = self.database._pool
        if (
            pool is None
            or self.uses >= USES_MAX
            or pool._connection_class is not DatabaseConnection
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
            return await self._has_founded_schema(restorer)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            return False

    async def _has_founded_schema(self, restorer: "asyncpg.Connection[asyncpg.Record]") -> bool:
        """Return whether no test has changed it; note the tables that the last one wrote in."""
        content, before = self._content, self._written
        self._written = await restorer.fetchval(WRITTEN, content.counted)
        changed = [
            place
            for place, counts in enumerate(zip(before, self._written, strict=True))
            if counts[0] != counts[1]
        ]
        catalogs = len(content.catalogs)
        self._changed = [place - catalogs for place in changed if place >= catalogs]
        return len(self._changed) == len(changed) or (
            [tuple(row) for row in await restorer.fetch(SCHEMA)] == content.schema
        )

    async def restore(self) -> None:
        """Restore the founded content."""
        restorer, content = await self._connected(), self._content
        sequences = [sequence.oid for sequence in content.sequences]
        async with restorer.transaction():
            await restorer.execute("SELECT pg_temp.restore_tables($1)", self._changed)
            last_values = await restorer.fetchval(LAST_VALUES, sequences)
            moved = [
                sequence
                for sequence, last in zip(content.sequences, last_values, strict=True)
                if sequence.last != last
            ]
            if moved:
                await restorer.execute(
                    SET_VALUES,
                    [sequence.oid for sequence in moved],
                    [sequence.start if sequence.last is None else sequence.last for sequence in moved],
                    [sequence.last is not None for sequence in moved],
                )
        self.uses += 1

    async def close(self) -> None:
        if self._restorer is not None:
            await self._restorer.close()
        await self.database.close()

    async def _connected(self) -> "asyncpg.Connection[asyncpg.Record]":
        if self._restorer is None:
            self._restorer = await asyncpg.connect(self.database.dsn, server_settings=RESTORING)
            await self._restorer.execute(self._content.restoring)
        return self._restorer
