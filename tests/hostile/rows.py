"""Rows of every table, by which a refused request is proved to have stored, changed and removed nothing."""

from dataclasses import dataclass

from tests.registry import TestRegistry

# Counting requests is what it is for.
COUNTED_ANYWAY = {"plumbing_rate_limit", "alembic_version"}


async def rows_of_every_table(registry: TestRegistry) -> dict[str, int]:
    """Row counts by table."""
    tables = await _tables(registry)
    counts = ", ".join(f'(SELECT count(*) FROM "{table}") AS "{table}"' for table in tables)
    row = await registry.database.read(lambda tx: tx.fetchrow(f"SELECT {counts}"))
    return dict(row)


@dataclass(frozen=True)
class Mark:
    """A moment of the database: its next transaction, and how many rows each table had."""

    transaction: int
    rows: dict[str, int]

    @classmethod
    async def of(cls, registry: TestRegistry) -> "Mark":
        return cls(await _next_transaction(registry), await rows_of_every_table(registry))

    async def changed(self, registry: TestRegistry) -> set[str]:
        """The tables in which a row was added, changed or removed since."""
        if await _next_transaction(registry) == self.transaction:
            return set()
        written = " UNION ALL ".join(
            f"(SELECT '{table}' AS name FROM \"{table}\" WHERE xmin::text::bigint >= {self.transaction} LIMIT 1)"
            for table in self.rows
        )
        found = {row["name"] for row in await registry.database.read(lambda tx: tx.fetch(written))}
        now = await rows_of_every_table(registry)
        return found | {table for table, count in self.rows.items() if now[table] != count}


async def _next_transaction(registry: TestRegistry) -> int:
    """Reading takes no number; whatever writes does."""
    statement = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    number: int = await registry.database.read(lambda tx: tx.fetchval(statement))
    return number


async def _tables(registry: TestRegistry) -> list[str]:
    names = await registry.database.read(
        lambda tx: tx.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    )
    return [row["tablename"] for row in names if row["tablename"] not in COUNTED_ANYWAY]
