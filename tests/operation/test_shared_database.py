"""Registries on a database that the operator brings."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.foundation.plumbing.storage.migrate import BASELINE
from tests.data_directories import copy_data_directory
from tests.operation.conftest import Launch
from tests.operation.registry_process import children_of, command_of, health, run


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory, migrated_data: Path) -> AsyncIterator[str]:
    """The DSN of a server that no registry under test has started; its own database has the schema and no registry."""
    directory = tmp_path_factory.mktemp("servers") / "server"
    copy_data_directory(migrated_data, directory)
    postgres = EmbeddedPostgres(directory)
    yield await postgres.start()
    await postgres.stop()


@pytest.fixture
async def empty_database(server: str) -> str:
    """The DSN of a database with nothing in it."""
    name = f"empty_{uuid4().hex[:8]}"
    connection = await asyncpg.connect(server)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


async def test_the_given_server_is_used_by_all_workers_and_none_is_started(operated: Launch, server: str):
    registry = operated(workers=2, DATABASE_URL=server)
    await registry.start()
    assert await health(registry.url) == 200
    assert [pid for pid in children_of(registry.pid) if "postgres" in command_of(pid)] == []
    assert not (registry.data_dir / "postgres").exists()
    assert (await registry.stop()).code == 0
    assert await _issued(server) == [100_000_000_000_000]


async def test_several_services_with_the_same_keys_start_together_on_an_empty_database(
    operated: Launch, empty_database: str, tmp_path: Path
):
    registries = [operated(f"number{number}", DATABASE_URL=empty_database) for number in range(3)]
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    for registry in registries:
        registry.data_dir.mkdir(mode=0o700)
        (registry.data_dir / "keys").symlink_to(keys)
    await asyncio.gather(*(registry.start() for registry in registries))
    assert [await health(registry.url) for registry in registries] == [200] * 3
    assert await _issued(empty_database) == [100_000_000_000_000], "the genesis supply is issued once"
    assert [(await registry.stop()).code for registry in registries] == [0] * 3


async def test_a_server_that_goes_away_is_a_503_with_retry_after_until_it_is_back(
    operated: Launch, migrated_data: Path, tmp_path: Path
):
    copy_data_directory(migrated_data, tmp_path / "server")
    postgres = EmbeddedPostgres(tmp_path / "server")
    registry = operated(DATABASE_URL=await postgres.start())
    await registry.start()
    async with httpx2.AsyncClient(base_url=registry.url, trust_env=False, timeout=60) as http:
        await postgres.stop()
        away = [await http.get(path) for path in ("/health", "/api/v1/public/supply-invariant")]
        alive = await http.get("/livez")
        await postgres.start()
        back = [await http.get(path) for path in ("/health", "/api/v1/public/supply-invariant")]
    await registry.kill()
    await postgres.stop()
    assert [answer.status_code for answer in away] == [503, 503]
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in away)
    assert alive.status_code == 200
    assert [answer.status_code for answer in back] == [200, 200]


@pytest.mark.parametrize("command", [("serve", "--port=0"), ("db", "migrate")])
async def test_an_unreachable_server_ends_the_command_in_one_line_without_the_password(
    tmp_path: Path, command: tuple[str, ...]
):
    nowhere = "postgresql://hansa:Secret@127.0.0.1:1/registry"
    ended = await run(*command, data_dir=tmp_path / "data", DATABASE_URL=nowhere)
    assert ended.code == 1
    assert ended.output == ""
    [line] = ended.complaints
    assert line == "hansa: DATABASE_URL: cannot connect to 127.0.0.1:1/registry: connection refused"
    assert "Secret" not in line


async def test_a_database_that_does_not_exist_is_named_in_one_line(server: str, tmp_path: Path):
    missing = urlunsplit(urlsplit(server)._replace(path="/missing"))
    ended = await run("serve", "--port=0", data_dir=tmp_path / "data", DATABASE_URL=missing)
    assert ended.code == 1
    [line] = ended.complaints
    assert line.startswith("hansa: DATABASE_URL: cannot connect to ")
    assert line.endswith('/missing: database "missing" does not exist')


async def test_a_role_that_may_not_create_tables_stops_the_start_in_one_line(
    empty_database: str, tmp_path: Path
):
    connection = await asyncpg.connect(empty_database)
    role = f"reader_{uuid4().hex[:8]}"
    await connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'Secret'")
    await connection.close()
    parts = urlsplit(empty_database)
    place = parts.netloc.rpartition("@")[2]
    poor = urlunsplit(parts._replace(netloc=f"{role}:Secret@{place}"))
    ended = await run("serve", "--port=0", data_dir=tmp_path / "data", DATABASE_URL=poor)
    assert (ended.code, ended.output) == (1, "")
    [line] = [line for line in ended.complaints if line.startswith("hansa: ")]
    assert "permission denied for schema public" in line
    assert "granted CREATE" in line
    assert "Secret" not in ended.complaint
    assert "Traceback" not in ended.complaint


async def test_a_schema_migrated_by_hand_is_not_migrated_again(operated: Launch, empty_database: str):
    first = await run("db", "migrate", data_dir=operated().data_dir, DATABASE_URL=empty_database)
    again = await run("db", "migrate", data_dir=operated().data_dir, DATABASE_URL=empty_database)
    assert (first.code, again.code) == (0, 0), (first, again)
    migrations, sql_files = first.output.splitlines()
    assert migrations.startswith(f"migrations applied: {BASELINE}")
    assert sql_files.startswith("SQL files applied: plumbing/")
    assert again.output.splitlines() == ["the schema is up to date: nothing was applied"]
    assert await _issued(empty_database) == [], "migrating issues nothing"


async def test_two_processes_that_migrate_at_once_apply_everything_once(
    operated: Launch, empty_database: str
):
    migrate = ("db", "migrate")
    ended = await asyncio.gather(
        *(run(*migrate, data_dir=operated().data_dir, DATABASE_URL=empty_database) for _ in range(2))
    )
    assert [one.code for one in ended] == [0, 0], ended
    current, applied = sorted((one.output.splitlines() for one in ended), key=len)
    assert current == ["the schema is up to date: nothing was applied"]
    assert [line.partition(" applied: ")[0] for line in applied] == ["migrations", "SQL files"]


@pytest.mark.parametrize("command", ["mint --amount=1 --ref=x", "burn --amount=1 --ref=x", "service list"])
async def test_a_command_makes_no_registry_in_an_empty_database(
    empty_database: str, tmp_path: Path, command: str
):
    ended = await run(*command.split(), data_dir=tmp_path / "data", DATABASE_URL=empty_database)
    assert (ended.code, ended.output) == (1, "")
    [line] = ended.complaints
    assert line.startswith("hansa: no registry in the database at ")
    assert line.endswith("; run `hansa serve` to create one")
    connection = await asyncpg.connect(empty_database)
    assert await connection.fetchval("SELECT count(*) FROM pg_class WHERE relname = 'alembic_version'") == 0
    await connection.close()


async def _issued(dsn: str) -> list[int]:
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch("SELECT amount FROM ledger_transaction WHERE tx_type = 'issue'")
    await connection.close()
    return [row["amount"] for row in rows]


async def test_a_schema_of_a_later_version_is_refused_in_one_line(empty_database: str, tmp_path: Path):
    connection = await asyncpg.connect(empty_database)
    await connection.execute("CREATE TABLE alembic_version (version_num text)")
    await connection.execute("INSERT INTO alembic_version VALUES ('2099010101')")
    await connection.close()
    ended = await run("serve", "--port=0", data_dir=tmp_path / "data", DATABASE_URL=empty_database)
    assert (ended.code, ended.output) == (1, "")
    [line] = ended.complaints
    assert "is 2099010101, which this version does not know; it needs " in line
