"""A backup is taken while clients move units, and restored: nothing acknowledged before its position is missing."""

import json
import os
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import asyncpg
import pytest

from hansa.doors.database_backup import back_up, read_backup, restore
from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail, enqueue_mail
from hansa.foundation.plumbing.keys.key_files import BadKey
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.plumbing.storage.backup import (
    BadBackup,
    Manifest,
    Reader,
    connect,
    new_backup,
    read_tables,
    written,
)
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.foundation.plumbing.storage.migrate import (
    BASELINE,
    FORMER_CHAIN_END,
    LAST_COMMIT_OF_FORMER_CHAIN,
    Migrated,
    migrate,
    newest_schema,
    present_schema,
    renamed_sequences,
)
from hansa.rooms import auditor, journal
from tests.operation.conftest import Launch
from tests.operation.history import Attempt, History, Operation, Outcome, read_history
from tests.operation.nothing_lost import find_what_is_wrong
from tests.operation.own_database import own_database
from tests.operation.registry_process import Ended, RegistryProcess, health, run, until
from tests.operation.storm import Storm
from tests.registry import PASSWORD, DatabaseFarm, TestRegistry, open_registry
from tests.upgrade.later_version import later_version
from tests.upgrade.restore import restore_dump

TIER = int(os.environ.get("HANSA_TEST_TIER", "0"))
SEED = int(os.environ.get("HANSA_TEST_SEED", random.SystemRandom().randrange(2**32)))
PERIODIC_TASKS = (1, 3, 20)[TIER]
DAMAGES = (30, 300, 3000)[TIER]
CLIENTS = 8
SECRET = "Quiet-Harbour-41-Lantern"
NORTH = {"registry_name": "north", "trust_domain": "north.test", "enable_projection_snapshots": True}


def refused_in_one_line(ended: Ended) -> str:
    assert ended.code != 0, ended
    assert ended.output == ""
    [line] = ended.complaints
    assert SECRET not in line
    return line


async def test_a_copy_restored_from_a_backup_under_load_has_all_that_was_acknowledged_before(
    operated: Launch, tmp_path: Path
):
    print(f"HANSA_TEST_SEED={SEED}")
    registry = operated(TRUSTED_PROXIES="127.0.0.1", GENESIS_SUPPLY="100000000")
    await registry.start()
    history = History(tmp_path / "history.jsonl")
    storm = Storm(registry.url, history, SEED, clients=CLIENTS, agents=CLIENTS)
    await storm.gather()
    storm.rage()
    taken = []
    for number in range(PERIODIC_TASKS):
        had = len(acknowledged(read_history(history.path)))
        await until(lambda had=had: len(acknowledged(read_history(history.path))) >= had + 40, seconds=120)
        before = read_history(history.path)
        file = tmp_path / f"{number}.hansa"
        ended = await run(
            "db", "backup", str(file), "--json", data_dir=registry.data_dir, HANSA_KEYS_PASSPHRASE=SECRET
        )
        assert ended.code == 0, ended
        assert file.stat().st_mode & 0o777 == 0o600
        taken.append((file, before, json.loads(ended.output)))
    await storm.calm()
    await storm.close()
    history.close()
    assert (await registry.stop()).code == 0
    asked_for = read_history(history.path)
    for file, before, named in taken:
        await prove_restored(
            operated(f"restored-{file.stem}"), file, as_known_before(asked_for, before), named
        )


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def acknowledged(operations: list[Operation]) -> list[Operation]:
    return [one for one in operations if one.outcome is Outcome.ACKNOWLEDGED]


def as_known_before(asked_for: list[Operation], before: list[Operation]) -> list[Operation]:
    """Return every operation ever requested; one that was not decided before the backup may be in it or not."""
    decided = {one.key: one for one in before if one.outcome is not Outcome.UNKNOWN}
    return [decided.get(one.key) or replace(one, attempts=[Attempt(None)]) for one in asked_for]


async def prove_restored(
    copy: RegistryProcess, file: Path, known: list[Operation], named: dict[str, object]
) -> None:
    ended = await run(
        "db", "restore", str(file), "--json", data_dir=copy.data_dir, HANSA_KEYS_PASSPHRASE=SECRET
    )
    assert ended.code == 0, ended
    restored = json.loads(ended.output)
    for member in ("taken_at", "lsn", "journal_sequence"):
        assert restored[member] == named[member]
    postgres = EmbeddedPostgres(copy.data_dir)
    connection = await asyncpg.connect(await postgres.start())
    try:
        assert await find_what_is_wrong(connection, known) == []
    finally:
        await connection.close()
        await postgres.stop()
    # It serves, and an audit that trusts nothing finds nothing.
    await copy.start()
    assert await health(copy.url) == 200
    database = Database(await copy.database(), pool_size=1)
    await database.open()
    try:
        verdict = await database.transaction(auditor.audit_from_zero, one_snapshot=True)
    finally:
        await database.close()
    assert verdict.status == "OK"
    assert not any(verdict.findings.values()), verdict.findings
    assert (await copy.stop()).code == 0


@pytest.fixture(scope="module")
async def backup(tmp_path_factory: pytest.TempPathFactory, database_farm: DatabaseFarm) -> Path:
    """A backup of a registry whose mail and webhooks wait to be sent."""
    folder = tmp_path_factory.mktemp("backup")
    async with open_registry(await database_farm.fresh(), folder / "data", **NORTH) as registry:
        await fill(registry)
        await back_up(registry.settings, folder / "north.hansa", SECRET)
    return folder / "north.hansa"


async def fill(registry: TestRegistry) -> None:
    administrator = await registry.administrator("admin_platform")
    developer = await registry.developer()
    one, other = await developer.agent(), await registry.agent()
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO ledger_account (did, kind) SELECT 'did:hansa:north.test:quiet-' || n, 'agent'"
            " FROM generate_series(1, 100) n"
        )
    )
    assert (await one.transfer(other, "3", key="first")).status_code == 200
    hook = {"url": "https://receiver.example.org/hook", "event_types": ["*"]}
    answer = await registry.post("/developers/webhooks", json=hook, headers=developer.headers)
    assert answer.status_code == 201, answer.text
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO notifications_webhook_delivery (id, webhook_id, event_type, payload)"
            " VALUES ('msg_' || repeat('a', 24), $1, 'agent.onboarded', '{}')",
            answer.json()["id"],
        )
    )
    mail = OutgoingMail("owner@example.org", "Waits", "A mail that waits.", good_for=timedelta(days=1))
    await registry.database.transaction(lambda tx: enqueue_mail(tx, registry.runtime.seal, mail))
    forgotten = await registry.post("/auth/forgot-password", json={"email": developer.email})
    assert forgotten.status_code in {200, 202}, forgotten.text
    snapshot = await registry.post("/admin/projection-snapshot", headers=administrator.headers)
    assert snapshot.status_code == 200, snapshot.text


@pytest.fixture
async def empty_database(postgres: str) -> AsyncIterator[str]:
    async with own_database(postgres) as dsn:
        yield dsn


async def is_superuser(dsn: str) -> bool:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    finally:
        await connection.close()


async def waiting(registry: TestRegistry) -> dict[str, int]:
    row = await registry.database.query(
        lambda tx: tx.fetchrow(
            "SELECT (SELECT count(*) FROM plumbing_letter) AS mails, (SELECT count(*) FROM people_forgotten_password)"
            " AS forgotten, (SELECT count(*) FROM notifications_webhook_delivery WHERE status = 'pending') AS deliveries"
        )
    )
    return dict(row)


async def test_a_copy_restored_by_an_ordinary_role_has_name_keys_and_balances_and_sends_nothing_that_waited(
    backup: Path, empty_database: str, tmp_path: Path
):
    settings = read_settings(database_url=empty_database, data_dir=tmp_path / "copy", **NORTH)
    restored = await restore(settings, read_backup(backup), SECRET)
    assert restored.mails_withheld == 1
    assert restored.deliveries_withheld == 1
    assert not await is_superuser(empty_database)
    async with open_registry(empty_database, tmp_path / "copy", **NORTH) as copy:
        assert await waiting(copy) == {"mails": 0, "forgotten": 0, "deliveries": 0}
        assert await copy.outbox() == []
        form = {"username": "developer2@example.org", "password": PASSWORD}
        assert (await copy.post("/auth/login", data=form, headers=copy.elsewhere())).status_code == 200
        form = {"username": "administrator1@example.org", "password": PASSWORD}
        login = await copy.post("/auth/login", data=form, headers=copy.elsewhere())
        headers = {"Authorization": f"Bearer {login.json()['access_token']}"}
        snapshot = await copy.post("/admin/projection-snapshot", headers=headers)
        assert snapshot.status_code == 200, snapshot.text
        verdict = await copy.database.transaction(auditor.audit_from_zero, one_snapshot=True)
        assert verdict.status == "OK"
        acts = await copy.database.query(lambda tx: tx.fetch("SELECT act FROM plumbing_admin_act"))
        assert "registry.restore" in [act["act"] for act in acts]


async def test_a_restore_leaves_room_for_updates_on_the_pages_of_accounts(
    backup: Path, empty_database: str, tmp_path: Path
):
    settings = read_settings(database_url=empty_database, data_dir=tmp_path / "copy", **NORTH)
    await restore(settings, read_backup(backup), SECRET)
    connection = await asyncpg.connect(empty_database)
    try:
        pages = await connection.fetch(
            "SELECT count(*) AS accounts FROM ledger_account GROUP BY (ctid::text::point)[0]"
        )
        options = await connection.fetchval(
            "SELECT reloptions FROM pg_class WHERE oid = 'ledger_account'::regclass"
        )
    finally:
        await connection.close()
    # A page that is full holds more than 50.
    assert 25 <= max(page["accounts"] for page in pages) <= 35
    assert "fillfactor=100" in options


async def test_which_sql_files_were_applied_is_recorded_by_the_restore_not_by_the_backup(
    backup: Path, empty_database: str, tmp_path: Path
):
    reader = read_backup(backup)
    assert "plumbing_sql_file" not in reader.manifest.tables
    settings = read_settings(database_url=empty_database, data_dir=tmp_path / "copy", **NORTH)
    await restore(settings, reader, SECRET)
    assert await migrate(empty_database) == Migrated()


async def backup_before_the_baseline(server: str, folder: Path, manifest: Manifest) -> Path:
    """A backup without keys of a database at the last schema before the baseline."""
    file = folder / "former.hansa"
    async with own_database(server) as dsn:
        await restore_dump(dsn, folder / "former")
        async with connect(dsn) as connection:
            with new_backup(file) as writer:
                tables, sequences = await read_tables(connection, writer)
                held = {"tables": tables, "sequences": sequences, "has_keys": False}
                held |= {"schema_revision": await present_schema(dsn)}
                held |= {"journal_months": await journal.months(connection)}
                writer.finish(written(manifest.model_copy(update=held)), None)
    return file


async def test_a_backup_of_the_last_schema_before_the_baseline_is_restored_with_its_sequences(
    backup: Path, postgres: str, empty_database: str, tmp_path: Path
):
    reader = read_backup(await backup_before_the_baseline(postgres, tmp_path, Reader(backup).manifest))
    assert reader.manifest.schema_revision == FORMER_CHAIN_END
    settings = read_settings(database_url=empty_database, data_dir=tmp_path / "copy", **NORTH)
    await restore(settings, reader, None)
    assert await present_schema(empty_database) == BASELINE
    connection = await asyncpg.connect(empty_database)
    try:
        for former, present in renamed_sequences().items():
            number = await connection.fetchval(f"SELECT last_value FROM {present}")
            assert number == reader.manifest.sequences[former]
    finally:
        await connection.close()
    await migrate(empty_database)
    assert await present_schema(empty_database) == newest_schema()


def test_a_backup_of_an_older_schema_is_refused_with_the_commit_that_restores_it(
    backup: Path, tmp_path: Path
):
    reader, file = Reader(backup), tmp_path / "older.hansa"
    with new_backup(file) as writer:
        for table in reader.manifest.tables:
            for piece in reader.pieces(table):
                writer.piece(table, piece)
        older = reader.manifest.model_copy(update={"schema_revision": "0257"})
        writer.finish(written(older), reader.keys)
    with pytest.raises(
        BadBackup, match=rf"schema .* is 0257, .*restore it with commit {LAST_COMMIT_OF_FORMER_CHAIN}"
    ):
        read_backup(file)


async def test_a_backup_is_restored_by_a_later_version_in_its_own_schema_and_brought_up_to_date(
    backup: Path, empty_database: str, tmp_path: Path
):
    settings = read_settings(database_url=empty_database, data_dir=tmp_path / "copy", **NORTH)
    with later_version(tmp_path) as later:
        await restore(settings, read_backup(backup), SECRET)
        assert await present_schema(empty_database) == Reader(backup).manifest.schema_revision
        assert (await migrate(empty_database)).migrations == (later,)


async def test_a_restore_takes_an_empty_database_and_an_empty_directory_only(
    backup: Path, database_farm: DatabaseFarm, tmp_path: Path
):
    taken = await database_farm.fresh()
    settings = read_settings(database_url=taken, data_dir=tmp_path / "copy", **NORTH)
    with pytest.raises(BadBackup, match="the database is not empty"):
        await restore(settings, read_backup(backup), SECRET)
    assert names_in(tmp_path) == []
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "notes").write_text("kept")
    ended = await run("db", "restore", str(backup), data_dir=tmp_path / "data", HANSA_KEYS_PASSPHRASE=SECRET)
    assert "is not empty" in refused_in_one_line(ended)
    assert names_in(tmp_path / "data") == ["notes"]


async def test_a_wrong_passphrase_is_refused_before_anything_is_written(backup: Path, tmp_path: Path):
    ended = await run(
        "db", "restore", str(backup), data_dir=tmp_path / "copy", HANSA_KEYS_PASSPHRASE=f"{SECRET}!"
    )
    assert "the passphrase is wrong" in refused_in_one_line(ended)
    assert names_in(tmp_path) == []


def test_a_torn_or_altered_backup_is_refused_wherever_it_was_touched(backup: Path, tmp_path: Path):
    print(f"HANSA_TEST_SEED={SEED}")
    chance = random.Random(SEED)
    whole = backup.read_bytes()
    damaged = tmp_path / "damaged.hansa"
    for _ in range(DAMAGES):
        place = chance.randrange(len(whole))
        for content in (
            whole[:place],
            whole[:place] + bytes([whole[place] ^ (1 << chance.randrange(8))]) + whole[place + 1 :],
            whole[:place] + b"!" + whole[place:],
        ):
            damaged.write_bytes(content)
            with pytest.raises(BadBackup):
                read_backup(damaged)


@pytest.fixture
def damaged(backup: Path, tmp_path: Path) -> Path:
    (tmp_path / "damaged.hansa").write_bytes(backup.read_bytes()[:-1])
    return tmp_path / "damaged.hansa"


async def test_a_damaged_backup_ends_the_command_in_one_line_before_anything_is_written(
    damaged: Path, tmp_path: Path
):
    ended = await run("db", "restore", str(damaged), data_dir=tmp_path / "copy", HANSA_KEYS_PASSPHRASE=SECRET)
    assert "damaged.hansa" in refused_in_one_line(ended)
    assert names_in(tmp_path) == ["damaged.hansa"]


async def test_who_alters_rows_and_every_digest_is_found_out_by_the_keys_in_the_backup(
    backup: Path, tmp_path: Path
):
    reader = read_backup(backup)
    name, table = next((name, table) for name, table in reader.manifest.tables.items() if table.rows == 2)
    content = b"".join(reader.pieces(name)).replace(b"a", b"b")
    digest = sha256(content).hexdigest()
    tables = {**reader.manifest.tables, name: table.model_copy(update={"sha256": digest})}
    forged = tmp_path / "forged.hansa"
    with new_backup(forged) as writer:
        for one in reader.manifest.tables:
            for piece in [content] if one == name else reader.pieces(one):
                writer.piece(one, piece)
        writer.finish(written(reader.manifest.model_copy(update={"tables": tables})), reader.keys)
    settings = read_settings(data_dir=tmp_path / "copy", **NORTH)
    with pytest.raises(BadKey, match="the file was altered"):
        await restore(settings, read_backup(forged), SECRET)


async def test_a_backup_never_replaces_a_file_and_one_without_keys_says_so(operated: Launch, tmp_path: Path):
    registry = operated()
    await registry.start()
    file = tmp_path / "registry.hansa"
    first = await run("db", "backup", str(file), "--without-keys", data_dir=registry.data_dir)
    assert (first.code, first.complaint) == (0, "")
    assert "without keys" in first.output
    again = await run("db", "backup", str(file), "--without-keys", data_dir=registry.data_dir)
    assert "exists" in refused_in_one_line(again)
    keys = tmp_path / "keys.json"
    exported = await run(
        "keys", "export", str(keys), data_dir=registry.data_dir, HANSA_KEYS_PASSPHRASE=SECRET
    )
    assert exported.code == 0, exported
    assert (await registry.stop()).code == 0
    copy = operated("copy")
    restored = await run("db", "restore", str(file), data_dir=copy.data_dir)
    assert restored.code == 0, restored
    assert "hansa keys import" in restored.output
    without = await run("serve", "--port=0", data_dir=copy.data_dir)
    assert "has not its keys" in refused_in_one_line(without)
    imported = await run("keys", "import", str(keys), data_dir=copy.data_dir, HANSA_KEYS_PASSPHRASE=SECRET)
    assert imported.code == 0, imported
    await copy.start()
    assert await health(copy.url) == 200
