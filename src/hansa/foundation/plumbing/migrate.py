"""Schema migrations: forward only, applied at start, under a lock, so that several processes may start together."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

import hansa

LOCK = 0x68616E7361  # "hansa"
LOCK_TIMEOUT = "10s"


async def migrate(dsn: str, revision: str = "head") -> None:
    """Bring the schema of the database to this version, or an empty one to an older revision; quick when it is there."""
    if await schema_revision(dsn) != (newest_revision() if revision == "head" else revision):
        await asyncio.to_thread(_upgrade, dsn, revision)


def migrations_directory() -> Path:
    """Where the revisions lie: in the package, or beside it in a checkout."""
    inside = Path(hansa.__file__).parent / "migrations"
    return inside if inside.is_dir() else Path(hansa.__file__).parents[2] / "migrations"


def newest_revision() -> str:
    """The revision of the schema that this version works on."""
    return max(path.name.partition("_")[0] for path in migrations_directory().glob("[0-9]*.py"))


def has_revision(revision: str) -> bool:
    """Whether this version knows that revision of the schema."""
    return any(path.name.partition("_")[0] == revision for path in migrations_directory().glob("[0-9]*.py"))


async def schema_revision(dsn: str) -> str | None:
    """The revision of the database's schema, None without one."""
    connection = await asyncpg.connect(dsn)
    try:
        if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
            return None
        version: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
        return version
    finally:
        await connection.close()


def _upgrade(dsn: str, target: str) -> None:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.runtime.migration import RevisionStep
    from alembic.script import ScriptDirectory
    from sqlalchemy import NullPool, create_engine

    directory = migrations_directory()
    script = ScriptDirectory(str(directory), version_locations=[str(directory)])

    def to_head(revision: object, _: object) -> Sequence[RevisionStep]:
        return script._upgrade_revs(target, revision)  # type: ignore[arg-type]  # noqa: SLF001

    url = urlunsplit(urlsplit(dsn)._replace(scheme="postgresql+psycopg"))
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection, EnvironmentContext(Config(), script, fn=to_head) as environment:
        connection.exec_driver_sql(f"SELECT pg_advisory_lock({LOCK})")
        connection.exec_driver_sql(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        connection.commit()
        environment.configure(connection=connection, transaction_per_migration=True)
        environment.run_migrations()
        connection.commit()
    engine.dispose()
