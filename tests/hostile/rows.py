"""How many rows every table holds, so that a refused request can be shown to have stored nothing."""

from tests.registry import TestRegistry

# Counting requests is what it is for.
COUNTED_ANYWAY = {"plumbing_rate_limit", "alembic_version"}


async def rows_of_every_table(registry: TestRegistry) -> dict[str, int]:
    """Row counts by table."""
    names = await registry.database.read(
        lambda tx: tx.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    )
    tables = [row["tablename"] for row in names if row["tablename"] not in COUNTED_ANYWAY]
    counts = ", ".join(f'(SELECT count(*) FROM "{table}") AS "{table}"' for table in tables)
    row = await registry.database.read(lambda tx: tx.fetchrow(f"SELECT {counts}"))
    return dict(row)
