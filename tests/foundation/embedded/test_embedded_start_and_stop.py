import asyncio
import os
import stat
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from running_server import server_pid

from hansa.doors import startup
from hansa.foundation.plumbing.storage.embedded import (
    DataDirectoryInUse,
    EmbeddedPostgres,
    EmbeddedPostgresFailed,
    EmbeddedPostgresNotRunning,
    NoRegistry,
    running_dsn,
    server,
)
from hansa.foundation.plumbing.storage.embedded.claim import Claim
from hansa.foundation.plumbing.storage.embedded.server import last_complaint


async def test_a_service_does_not_wait_for_ever_and_a_command_not_at_all(tmp_path, monkeypatch):
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    held = Claim(data_dir / "lock", "hansa db backup")
    monkeypatch.setattr(server, "COMMAND_SECONDS", 0.0)
    for another in (EmbeddedPostgres(data_dir), EmbeddedPostgres(data_dir, command="hansa mint")):
        with pytest.raises(DataDirectoryInUse) as refused:
            await another.start()
        assert str(refused.value) == (
            f"The data directory {data_dir} is in use by `hansa db backup` (process {os.getpid()}); "
            "run this again when that has ended or choose another --data-dir."
        )
    held.release()


def test_the_lock_names_the_command_without_its_options_and_values(monkeypatch):
    for typed, named in {
        "hansa db backup /srv/copy --passphrase-file x": "hansa db backup",
        "hansa mint --amount 5": "hansa mint",
        "hansa restore": "hansa restore",
    }.items():
        monkeypatch.setattr(sys, "argv", typed.split())
        assert startup._this_command() == named


async def setting(dsn: str, name: str) -> str:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval("SELECT current_setting($1)", name)
    finally:
        await connection.close()


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_the_first_start_makes_a_durable_cluster_behind_a_private_socket(embedded, tmp_path):
    dsn = await embedded(is_first=True).start()
    data_dir = tmp_path / "data"
    assert [mode(data_dir / name) for name in ("postgres", "postgres.socket", "keys")] == [0o700] * 3
    assert mode(data_dir / "keys" / "database-password") == 0o600
    expected = {
        "data_checksums": "on",
        "fsync": "on",
        "synchronous_commit": "on",
        "listen_addresses": "",
        "server_encoding": "UTF8",
        "password_encryption": "scram-sha-256",
    }
    assert {name: await setting(dsn, name) for name in expected} == expected
    connection = await asyncpg.connect(dsn)
    # The server visits each database that has statistics once a minute.
    visited = await connection.fetch(
        "SELECT datname FROM pg_stat_database WHERE datid <> 0 AND xact_commit > 0"
    )
    assert {row["datname"] for row in visited} <= {"hansa"}
    await connection.close()


async def test_a_later_start_waits_for_a_command_and_says_for_which_and_finds_everything_again(
    embedded, tmp_path, caplog
):
    postgres = embedded()
    connection = await asyncpg.connect(await postgres.start())
    await connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    await connection.close()
    await postgres.stop()
    command = Claim(tmp_path / "data" / "lock", "hansa db backup")
    caplog.set_level("INFO")
    starting = asyncio.create_task(embedded().start())
    while not caplog.messages:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    command.release()
    dsn = await starting
    assert caplog.messages[0] == (
        f"waiting up to 10 s for `hansa db backup` (process {os.getpid()}), which uses the data directory {tmp_path / 'data'}"
    )
    connection = await asyncpg.connect(dsn)
    assert await connection.fetchval("SELECT number FROM kept") == 7
    await connection.close()


async def test_text_is_ordered_by_code_point_and_case_is_known_beyond_ascii(embedded):
    connection = await asyncpg.connect(await embedded(is_first=True).start())
    await connection.execute("CREATE EXTENSION pg_trgm")
    assert await connection.fetchval("SELECT 'B' < 'a' AND lower('Ž') = 'ž'")
    assert len(await connection.fetchval("SELECT show_trgm('žluť')")) == 5
    await connection.close()


async def test_a_wrong_password_is_refused(embedded):
    dsn = await embedded().start()
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(dsn, password="guessed")


async def test_starting_and_stopping_twice_does_no_harm(embedded, tmp_path):
    postgres = embedded()
    assert await postgres.start() == await postgres.start()
    await postgres.stop()
    await postgres.stop()
    assert not (tmp_path / "data" / "postgres" / "postmaster.pid").exists()


async def test_a_database_that_was_dropped_is_made_anew(embedded):
    postgres = embedded()
    connection = await asyncpg.connect(await postgres.start(), database="postgres")
    await connection.execute("DROP DATABASE hansa WITH (FORCE)")
    await connection.close()
    await postgres.stop()
    assert await setting(await postgres.start(), "server_encoding") == "UTF8"


async def test_the_running_server_states_its_address_and_a_stopped_one_does_not(embedded, tmp_path):
    postgres = embedded(is_first=True)
    with pytest.raises(NoRegistry):
        running_dsn(tmp_path / "data")
    dsn = await postgres.start()
    assert running_dsn(tmp_path / "data") == dsn
    await postgres.stop()
    with pytest.raises(EmbeddedPostgresNotRunning):
        running_dsn(tmp_path / "data")


async def test_a_second_service_on_the_same_data_directory_is_refused(embedded, service, tmp_path):
    dsn = await embedded().start()
    with pytest.raises(DataDirectoryInUse, match=f"process {os.getpid()}"):
        await embedded().start()
    assert await asyncio.to_thread(service(tmp_path / "data").wait, 10) != 0
    assert await setting(dsn, "port") == "5432"


async def test_two_services_with_their_own_data_directories_run_side_by_side(embedded, tmp_path):
    first, second = await asyncio.gather(
        embedded(tmp_path / "first", is_first=True).start(), embedded(tmp_path / "second").start()
    )
    assert first != second
    assert await setting(first, "hansa.cluster") == str(tmp_path / "first" / "postgres")
    assert await setting(second, "hansa.cluster") == str(tmp_path / "second" / "postgres")


async def test_a_forked_worker_does_not_hold_the_data_directory(embedded):
    postgres = embedded()
    await postgres.start()
    reading, writing = os.pipe()
    worker = os.fork()
    if worker == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    os.close(reading)
    try:
        await postgres.stop()
        await embedded().start()
    finally:
        os.close(writing)
        await asyncio.to_thread(os.waitpid, worker, 0)


async def test_a_path_too_long_or_too_odd_for_a_socket_still_works(embedded, tmp_path):
    data_dir = tmp_path / ('long, "odd" and isn\'t ' + "x" * 100)
    postgres = embedded(data_dir, is_first=True)
    dsn = await postgres.start()
    assert await setting(dsn, "hansa.cluster") == str(data_dir / "postgres")
    socket_directory = parse_qs(urlsplit(dsn).query)["host"][0]
    assert len(socket_directory) < 80
    assert mode(Path(socket_directory)) == 0o700
    assert running_dsn(data_dir) == dsn
    await postgres.stop()
    with pytest.raises(FileNotFoundError):
        mode(Path(socket_directory))


async def test_a_socket_folder_that_is_a_link_to_elsewhere_is_refused(embedded, tmp_path):
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (data_dir / "postgres.socket").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EmbeddedPostgresFailed, match="belongs to somebody else"):
        await embedded().start()


async def test_a_lost_password_file_is_named_in_one_sentence(embedded, tmp_path):
    postgres = embedded()
    await postgres.start()
    await postgres.stop()
    (tmp_path / "data" / "keys" / "database-password").unlink()
    with pytest.raises(EmbeddedPostgresFailed, match=r"password file .* restore it"):
        await embedded().start()


async def test_a_bad_setting_of_the_operator_ends_the_start_with_the_servers_own_words(embedded, tmp_path):
    postgres = embedded()
    await postgres.start()
    await postgres.stop()
    with (tmp_path / "data" / "postgres" / "postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = 1\n")
    with pytest.raises(EmbeddedPostgresFailed, match="configuration file"):
        await embedded().start()


def test_the_complaint_of_a_failed_start_is_its_own_and_not_that_of_a_dying_backend(tmp_path):
    log = tmp_path / "postgres.log"
    log.write_text("t [7] FATAL:  lock file exists\nt [6] FATAL:  terminating connection\n")
    assert last_complaint(log, since=0, pid=7) == "lock file exists"


async def test_the_server_runs_in_a_session_of_its_own(embedded, tmp_path):
    await embedded().start()
    assert os.getsid(server_pid(tmp_path / "data")) != os.getsid(0)
