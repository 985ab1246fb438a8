"""A data directory belongs to the database of its first start: no mistake in the settings founds a second registry in it."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import pytest

from hansa.foundation.plumbing.keys import key_bundle
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from tests.data_directories import copy_data_directory
from tests.operation.conftest import Launch
from tests.operation.registry_process import Ended, RegistryProcess, run


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory, migrated_data: Path) -> AsyncIterator[str]:
    """The DSN of a server that no registry under test has started."""
    directory = tmp_path_factory.mktemp("servers") / "server"
    copy_data_directory(migrated_data, directory)
    postgres = EmbeddedPostgres(directory)
    yield await postgres.start()
    await postgres.stop()


async def new_database(server: str, template: str = "template1") -> str:
    """The DSN of a database with nothing in it, or of a copy of another one."""
    name = f"new_{uuid4().hex[:8]}"
    connection = await asyncpg.connect(server)
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    await connection.close()
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


def name_of(dsn: str) -> str:
    return urlsplit(dsn).path.removeprefix("/")


async def tables_of(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval("SELECT count(*) FROM pg_class WHERE relname ~ '^ledger_'")
    finally:
        await connection.close()


@pytest.fixture(scope="module")
async def first(tmp_path_factory: pytest.TempPathFactory, server: str) -> RegistryProcess:
    """A registry on a database of the operator, stopped after its first start, which the tests have copies of."""
    directory = tmp_path_factory.mktemp("first") / "data"
    registry = RegistryProcess(directory, DATABASE_URL=await new_database(server))
    await registry.start()
    assert (await registry.stop()).code == 0
    return registry


CopyOfFirst = Callable[..., Awaitable[RegistryProcess]]


@pytest.fixture
def copy_of_first(operated: Launch, first: RegistryProcess, server: str) -> CopyOfFirst:
    """Copy that registry, directory and database: `await copy_of_first(workers=…)`."""

    async def copy(**options: object) -> RegistryProcess:
        database = await new_database(server, name_of(first._settings["DATABASE_URL"]))
        registry = operated("bound", DATABASE_URL=database, **options)
        copy_data_directory(first.data_dir, registry.data_dir)
        return registry

    return copy


@pytest.fixture
async def founded(copy_of_first: CopyOfFirst) -> RegistryProcess:
    """A registry on a database of the operator, stopped after its first start."""
    return await copy_of_first()


async def test_a_lost_database_url_founds_no_registry_beside_the_one_that_the_directory_has(
    founded: RegistryProcess,
):
    for lost in ({}, {"DATABASE_UR": "postgresql://db.example/hansa"}):
        ended = await run("serve", "--port=0", data_dir=founded.data_dir, **lost)
        assert (ended.code, ended.output) == (1, "")
        [line] = ended.complaints
        assert "DATABASE_URL" in line
    assert not (founded.data_dir / "postgres").exists()


async def test_a_misspelt_database_url_stops_the_first_start(tmp_path: Path):
    ended = await run(
        "serve", "--port=0", data_dir=tmp_path / "data", DATABSE_URL="postgresql://db.example/hansa"
    )
    assert ended.code == 1
    assert ended.complaints == ["hansa: DATABSE_URL is not a setting; rename it to DATABASE_URL, or unset it"]
    assert not (tmp_path / "data").exists()


async def test_an_empty_database_is_not_founded_from_the_directory_of_another(
    founded: RegistryProcess, server: str
):
    other = await new_database(server)
    ended = await run("serve", "--port=0", data_dir=founded.data_dir, DATABASE_URL=other)
    assert ended.code == 1
    [line] = [line for line in ended.complaints if line.startswith("hansa: ")]
    assert f"{founded.data_dir} belongs to the registry hansa.local, and the database at " in line
    assert await tables_of(other) == 0


PASSPHRASE = {"HANSA_KEYS_PASSPHRASE": "grave-lantern-harbour-41"}


async def exported(registry: RegistryProcess, file: Path) -> Path:
    """The keys of a registry in a file."""
    ended = await run("keys", "export", str(file), data_dir=registry.data_dir, **PASSPHRASE)
    assert ended.code == 0, ended
    return file


async def imported(file: Path, data_dir: Path, **settings: str) -> Ended:
    return await run("keys", "import", str(file), data_dir=data_dir, **PASSPHRASE, **settings)


@pytest.mark.parametrize("lost", [{}, {"DB_URL": "postgresql://db.example/hansa"}])
async def test_imported_keys_without_their_database_found_no_embedded_registry(
    founded: RegistryProcess, tmp_path: Path, lost: dict[str, str]
):
    second = tmp_path / "second"
    assert (await imported(await exported(founded, tmp_path / "keys.json"), second)).code == 0
    record = json.loads((second / "registry.json").read_text())
    assert (record["database"], record["ledger_id"]) == ("external", "hansa.local")
    ended = await run("serve", "--port=0", data_dir=second, **lost)
    assert (ended.code, ended.output) == (1, "")
    [line] = ended.complaints
    assert f"{second} belongs to the registry hansa.local" in line
    assert "DATABASE_URL is not set" in line
    assert not (second / "postgres").exists()


async def test_imported_keys_found_no_registry_in_an_empty_database_and_join_their_own(
    founded: RegistryProcess, server: str, tmp_path: Path
):
    second, other = tmp_path / "second", await new_database(server)
    assert (await imported(await exported(founded, tmp_path / "keys.json"), second)).code == 0
    ended = await run("serve", "--port=0", data_dir=second, DATABASE_URL=other)
    assert ended.code == 1
    assert "has no registry" in ended.complaint
    assert await tables_of(other) == 0
    joined = RegistryProcess(second, **founded._settings)
    await joined.start()
    assert (await joined.stop()).code == 0


async def test_keys_are_not_imported_into_the_directory_of_another_registry(
    founded: RegistryProcess, tmp_path: Path
):
    file, second = await exported(founded, tmp_path / "keys.json"), tmp_path / "second"
    second.mkdir()
    (second / "registry.json").write_text('{"database": "external", "ledger_id": "north.example"}')
    ended = await imported(file, second)
    assert ended.code == 1
    assert "belongs to the registry north.example, and the keys are those of hansa.local" in ended.complaint
    assert not (second / "keys").exists()


async def test_an_export_of_an_earlier_version_binds_the_directory_by_the_settings(
    founded: RegistryProcess, tmp_path: Path
):
    file, second = tmp_path / "keys.json", tmp_path / "second"
    keys = key_bundle.keys_of(founded.data_dir)
    file.write_bytes(key_bundle.seal_keys(keys, PASSPHRASE["HANSA_KEYS_PASSPHRASE"]))
    assert (await imported(file, second, TRUST_DOMAIN="north.example")).code == 0
    assert json.loads((second / "registry.json").read_text())["ledger_id"] == "north.example"
    assert "is not set" in (await run("serve", "--port=0", data_dir=second)).complaint


async def test_a_restored_directory_without_its_database_founds_no_registry(
    founded: RegistryProcess, server: str, tmp_path: Path
):
    backup, copy = tmp_path / "registry.hansa", tmp_path / "copy"
    made = await run(
        "db", "backup", str(backup), data_dir=founded.data_dir, **PASSPHRASE, **founded._settings
    )
    assert made.code == 0, made
    database = {"DATABASE_URL": await new_database(server)}
    restored = await run("db", "restore", str(backup), data_dir=copy, **PASSPHRASE, **database)
    assert restored.code == 0, restored
    ended = await run("serve", "--port=0", data_dir=copy)
    assert (ended.code, "DATABASE_URL is not set" in ended.complaint) == (1, True)
    assert not (copy / "postgres").exists()


async def test_the_directory_of_an_embedded_registry_takes_no_other_database(operated: Launch, server: str):
    registry = operated("own")
    await registry.start()
    assert (await registry.stop()).code == 0
    other = await new_database(server)
    ended = await run("serve", "--port=0", data_dir=registry.data_dir, DATABASE_URL=other)
    assert ended.code == 1
    assert "in its own embedded PostgreSQL" in ended.complaint
    assert await tables_of(other) == 0


@pytest.mark.parametrize("command", ["db url", "mint --amount=1 --ref=x", "service list", "jobs list"])
async def test_a_command_without_the_database_url_names_what_is_missing(
    founded: RegistryProcess, command: str
):
    ended = await run(*command.split(), data_dir=founded.data_dir)
    assert ended.code == 1
    [line] = ended.complaints
    assert "DATABASE_URL is not set" in line
    assert "to create one" not in line


async def test_a_second_service_in_the_same_directory_is_refused_whatever_its_database(
    copy_of_first: CopyOfFirst, server: str
):
    registry = await copy_of_first(workers=2)
    await registry.start()
    for settings in ({}, {"DATABASE_URL": await new_database(server)}):
        ended = await run("serve", "--port=0", data_dir=registry.data_dir, **settings)
        assert ended.code == 1, settings
    again = await run("serve", "--port=0", data_dir=registry.data_dir, **registry._settings)
    assert again.code == 1
    assert "is in use by another service" in again.complaint
    assert (await registry.stop()).code == 0


async def test_a_directory_of_an_older_version_gets_its_record_at_the_next_start(founded: RegistryProcess):
    record = founded.data_dir / "registry.json"
    before = json.loads(record.read_text())
    assert (before["database"], before["ledger_id"]) == ("external", "hansa.local")
    record.unlink()
    await founded.start()
    assert json.loads(record.read_text()) == before
    assert (await founded.stop()).code == 0


async def test_adopting_records_another_database_on_purpose(founded: RegistryProcess, server: str):
    copy = {"DATABASE_URL": await new_database(server, name_of(founded._settings["DATABASE_URL"]))}
    (founded.data_dir / "registry.json").write_text('{"database": "embedded", "ledger_id": "hansa.local"}')
    assert (await run("serve", "--port=0", data_dir=founded.data_dir, **copy)).code == 1
    adopted = await run("db", "adopt", data_dir=founded.data_dir, **copy)
    assert adopted.code == 0, adopted
    assert json.loads((founded.data_dir / "registry.json").read_text())["database"] == "external"
