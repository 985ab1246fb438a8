"""Schema migrations: forward only, applied at start, under a lock, so that several processes may start together."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

import hansa
from hansa.foundation.plumbing.database import address_of
from hansa.foundation.words.errors import Unavailable

LOCK = 0x68616E7361  # "hansa"
LOCK_TIMEOUT = "10s"


async def migrate(dsn: str, schema: str | None = None) -> None:
    """Bring the schema of the database to this version, or an empty one to an older schema; quick when it is there.

    Raises: Unavailable when the role may not change the schema.
    """
    wanted = schema or newest_schema()
    if await present_schema(dsn) != wanted:
        try:
            await asyncio.to_thread(_upgrade, dsn, wanted)
        except Exception as trouble:
            if (refusal := _refusal_of_the_server(trouble)) is None:
                raise
            raise Unavailable(
                f"the schema of the database at {address_of(dsn)} cannot be brought up to date: {refusal};"
                " the role of DATABASE_URL must own the database, or be granted CREATE on it and on its schema public"
            ) from trouble


async def has_schema(dsn: str) -> bool:
    """Whether a registry was ever started on this database."""
    return await present_schema(dsn) is not None


def migrations_directory() -> Path:
    """Where the revisions lie: in the package, or beside it in a checkout."""
    inside = Path(hansa.__file__).parent / "migrations"
    return inside if inside.is_dir() else Path(hansa.__file__).parents[2] / "migrations"


def newest_schema() -> str:
    """The number of the last migration of this version."""
    return max(path.name.partition("_")[0] for path in migrations_directory().glob("[0-9]*.py"))


def knows_schema(number: str) -> bool:
    """Whether this version has the migration of that number."""
    return any(path.name.partition("_")[0] == number for path in migrations_directory().glob("[0-9]*.py"))


async def present_schema(dsn: str) -> str | None:
    """The number of the last migration that was applied; None before the first."""
    connection = await asyncpg.connect(dsn)
    try:
        if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
            return None
        version: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
        return version
    finally:
        await connection.close()


def _refusal_of_the_server(trouble: Exception) -> str | None:
    """What the server refuses the role, if that is what went wrong."""
    from psycopg.errors import InsufficientPrivilege

    cause = getattr(trouble, "orig", None) or trouble
    return str(cause).splitlines()[0] if isinstance(cause, InsufficientPrivilege) else None


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
