"""The schema: migrations (tables, indexes, data), then SQL files (functions, triggers, views).

- Migrations go forward only. Both are applied at start, under one lock, so that several processes may start together.
- The first migration is the baseline, a page of SQL for each room. A database at the last of the migrations before it is
  stamped; an older one is refused, and so is one of a newer version.
- A migration never calls a function of an SQL file: on an empty database every migration runs before the first file.
"""

import asyncio
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import msgspec

import hansa
from hansa.foundation.plumbing.storage.database import address_of
from hansa.foundation.plumbing.storage.hosts import connect_to_writer, writer_of
from hansa.foundation.plumbing.storage.sql_files import (
    APPLIED,
    SqlFile,
    SqlFileRefused,
    apply_sql_files,
    are_current,
    read_sql_files,
)
from hansa.foundation.values.errors import Unavailable

if TYPE_CHECKING:
    from sqlalchemy import Connection

LOCK = 0x68616E7361  # "hansa"
LOCK_TIMEOUT = "10s"

BASELINE = "2026112901"
FORMER_CHAIN_END = "0258"
LAST_COMMIT_OF_FORMER_CHAIN = "0e102f495c39"
"""Commit whose migrations end with `FORMER_CHAIN_END`: it brings an older database to there."""

_FORMER_REVISION = re.compile(r"\d{4}")
_RENAMED_SEQUENCE = re.compile(r"^ALTER SEQUENCE (\w+) RENAME TO (\w+);$", re.MULTILINE)

_REVISION = re.compile(r'^revision = "(\d+)"', re.MULTILINE)
_DOWN_REVISION = re.compile(r'^down_revision = "(\d+)"', re.MULTILINE)

_RIGHTS_OF_THE_ROLE = (
    "the role of DATABASE_URL must own the database and what earlier starts created in it, or be granted CREATE on it and"
    " on its schema public"
)


class Migrated(msgspec.Struct, frozen=True):
    """Migrations and SQL files applied to a database, in order; both are empty when it was current."""

    migrations: tuple[str, ...] = ()
    sql_files: tuple[str, ...] = ()


async def migrate(
    dsn: str, schema: str | None = None, sql_files: Sequence[SqlFile] | None = None
) -> Migrated:
    """Bring the schema of the database to this version, or an empty one to an older schema; quick when it is there.

    `FORMER_CHAIN_END` has the tables of the baseline. SQL files (those of this version unless given) are applied to the
    newest schema only: the tables that they name may be missing from an older one.

    Raises: Unavailable when the schema is from before the baseline or unknown to this version, the role may not change it, or an
    SQL file cannot be applied.
    """
    required_schema = BASELINE if schema == FORMER_CHAIN_END else schema or newest_schema()
    files: Sequence[SqlFile] | None = None
    try:
        if required_schema == newest_schema():
            files = read_sql_files() if sql_files is None else sql_files
        if await _is_current(dsn, required_schema, files):
            return Migrated()
        return await asyncio.to_thread(_upgrade, dsn, required_schema, files)
    except Exception as error:
        if (refusal := _refusal_of_the_server(error)) is None:
            raise
        raise Unavailable(
            f"the schema of the database at {address_of(dsn)} cannot be brought up to date: {refusal}"
        ) from error


async def has_schema(dsn: str) -> bool:
    """Return whether a registry was ever started on this database."""
    return await present_schema(dsn) is not None


def migrations_directory() -> Path:
    """Return the directory of the revisions: in the package, or beside it in a checkout."""
    inside = Path(hansa.__file__).parent / "migrations"
    return inside if inside.is_dir() else Path(hansa.__file__).parents[2] / "migrations"


@cache
def newest_schema() -> str:
    """The number of the migration that no other one of this version follows; it need not be the highest."""
    contents = [path.read_text(encoding="utf-8") for path in migrations_directory().glob("[0-9]*.py")]
    numbers: set[str] = {number for content in contents for number in _REVISION.findall(content)}
    (newest,) = numbers - {number for content in contents for number in _DOWN_REVISION.findall(content)}
    return newest


def known_schemas() -> frozenset[str]:
    """The number of each schema that this version brings up to date."""
    migrations = (path.name.partition("_")[0] for path in migrations_directory().glob("[0-9]*.py"))
    return frozenset({FORMER_CHAIN_END, *migrations})


def is_before_baseline(schema: str) -> bool:
    """Return whether this version does not bring a schema up to date because it is older than all that it knows."""
    return schema != FORMER_CHAIN_END and _FORMER_REVISION.fullmatch(schema) is not None


@cache
def renamed_sequences() -> dict[str, str]:
    """Return the present name of each sequence that had another name at `FORMER_CHAIN_END`."""
    return dict(_RENAMED_SEQUENCE.findall(_stamp()))


async def require_known_schema(dsn: str) -> None:
    """Raises: Unavailable when this version cannot bring the schema up to date: it is older than the baseline, or newer."""
    _require_known(await present_schema(dsn), dsn)


async def present_schema(dsn: str) -> str | None:
    """The number of the last migration that was applied; None before the first."""
    connection, _ = await connect_to_writer(dsn)
    try:
        return await _version(connection)
    finally:
        await connection.close()


def _require_known(version: str | None, dsn: str) -> None:
    if version is None or version in known_schemas():
        return
    found = f"the schema of the database at {address_of(dsn)} is {version}"
    if is_before_baseline(version):
        raise Unavailable(
            f"{found}, which is older than {FORMER_CHAIN_END}:"
            f" start the registry once with commit {LAST_COMMIT_OF_FORMER_CHAIN} of Hansa, then with this version"
        )
    # The number of a schema says nothing about its age: migrations may follow each other in another order.
    raise Unavailable(
        f"{found}, which this version does not know; it needs {newest_schema()}: install the version of hansa that wrote it"
    )


async def _is_current(dsn: str, schema: str, files: Sequence[SqlFile] | None) -> bool:
    connection, _ = await connect_to_writer(dsn)
    try:
        version = await _version(connection)
        _require_known(version, dsn)
        if version != schema:
            return False
        if files is None:
            return True
        applied = await connection.fetch(APPLIED)
        return are_current(files, {row["path"]: row["checksum"] for row in applied})
    finally:
        await connection.close()


async def _version(connection: "asyncpg.Connection[asyncpg.Record]") -> str | None:
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return None
    version: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    return version


def _refusal_of_the_server(error: Exception) -> str | None:
    """Return the reason why the schema cannot be changed, where that is an expected failure, and the remedy."""
    from psycopg.errors import InsufficientPrivilege

    cause = getattr(error, "orig", None) or error
    if isinstance(cause, SqlFileRefused) and not isinstance(cause.__cause__, InsufficientPrivilege):
        return str(cause)
    if isinstance(cause, SqlFileRefused | InsufficientPrivilege | asyncpg.InsufficientPrivilegeError):
        return f"{str(cause).splitlines()[0]}; {_RIGHTS_OF_THE_ROLE}"
    return None


def _stamp() -> str:
    return (migrations_directory() / "baseline" / "former_chain.sql").read_text(encoding="utf-8")


def _bring_to_baseline(connection: "Connection") -> bool:
    """Stamp a database at the end of the former migrations, in one transaction; returns whether it was there."""
    with connection.begin():
        if connection.exec_driver_sql("SELECT to_regclass('alembic_version')").scalar() is None:
            return False
        version = "UPDATE alembic_version SET version_num = %s WHERE version_num = %s"
        if connection.exec_driver_sql(version, (BASELINE, FORMER_CHAIN_END)).rowcount == 0:
            return False
        connection.exec_driver_sql(_stamp().replace("%", "%%"))
        return True


def _upgrade(dsn: str, target: str, files: Sequence[SqlFile] | None) -> Migrated:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.runtime.migration import RevisionStep
    from alembic.script import ScriptDirectory
    from sqlalchemy import NullPool, create_engine

    directory = migrations_directory()
    script = ScriptDirectory(str(directory), version_locations=[str(directory)])
    revisions: list[str] = []

    def to_head(revision: object, _: object) -> Sequence[RevisionStep]:
        steps = script._upgrade_revs(target, revision)  # type: ignore[arg-type]  # noqa: SLF001
        revisions.extend(step.revision.revision for step in steps)
        return steps

    url = urlunsplit(urlsplit(writer_of(dsn))._replace(scheme="postgresql+psycopg"))
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection, EnvironmentContext(Config(), script, fn=to_head) as environment:
        # Another process may need minutes for its migrations, and the limits of the server are for short work.
        for limit in ("lock_timeout", "statement_timeout"):
            connection.exec_driver_sql(f"SET {limit} = 0")
        connection.exec_driver_sql(f"SELECT pg_advisory_lock({LOCK})")
        connection.exec_driver_sql(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        connection.exec_driver_sql("RESET statement_timeout")
        connection.commit()
        if _bring_to_baseline(connection):
            revisions.append(BASELINE)
        environment.configure(connection=connection, transaction_per_migration=True)
        environment.run_migrations()
        connection.commit()
        driver = connection.connection.driver_connection
        assert driver is not None
        applied = [] if files is None else apply_sql_files(driver, files)
    engine.dispose()
    return Migrated(tuple(revisions), tuple(applied))
