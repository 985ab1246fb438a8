import asyncio
import os
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path

import asyncpg
import pytest
from running_server import cancelled, kill_server, server_pid, until

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgresNotRunning, running_dsn

LONG_WORK = "SELECT count(*) FROM generate_series(1, 5000000)"
IS_BUSY = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND query = $2)"


async def query(dsn, statement):
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


# What asyncpg raises when the server dies; the last one on a connection that got the message while idle.
CUT_OFF = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


async def write_until_cancelled(dsn, acknowledged):
    number = 0
    while True:
        with suppress(*CUT_OFF):
            connection = await asyncpg.connect(dsn, timeout=1)
            while True:
                number += 1
                await connection.execute("INSERT INTO written VALUES ($1)", number)
                acknowledged.append(number)
        await asyncio.sleep(0.01)


async def progress_of(acknowledged):
    reached = len(acknowledged) + 20
    await until(lambda: len(acknowledged) > reached)


def is_another_server(data_dir, pid):
    try:
        return (
            server_pid(data_dir) != pid and "ready" in (data_dir / "postgres" / "postmaster.pid").read_text()
        )
    except (FileNotFoundError, IndexError, ValueError):
        return False


async def test_a_killed_server_comes_back_and_nothing_acknowledged_is_lost(embedded, tmp_path):
    postgres = embedded()
    dsn = await postgres.start()
    await query(dsn, "CREATE TABLE written (number bigint PRIMARY KEY)")
    acknowledged = []
    watching = asyncio.create_task(postgres.watch())
    writing = asyncio.create_task(write_until_cancelled(dsn, acknowledged))
    for _ in range(3):
        await progress_of(acknowledged)
        killed = kill_server(tmp_path / "data")
        await until(partial(is_another_server, tmp_path / "data", killed), seconds=5)
        await progress_of(acknowledged)
    await cancelled(writing)
    connection = await asyncpg.connect(dsn)
    stored = {row["number"] for row in await connection.fetch("SELECT number FROM written")}
    await connection.close()
    await cancelled(watching)
    assert set(acknowledged) <= stored


@pytest.mark.parametrize("claim", ["kept", "recycled"])
async def test_a_busy_backend_of_a_killed_server_delays_the_next_start_but_does_not_stop_it(
    embedded, tmp_path, claim
):
    postgres = embedded()
    dsn = await postgres.start()
    connection = await asyncpg.connect(dsn)
    backend = connection.get_server_pid()
    busy = asyncio.create_task(connection.fetchval(LONG_WORK))
    observer = await asyncpg.connect(dsn)
    while not await observer.fetchval(IS_BUSY, backend, LONG_WORK):
        pass
    observer.terminate()
    kill_server(tmp_path / "data")
    await postgres.stop()
    if claim == "recycled":
        name_in_claims(tmp_path / "data", str(os.getpid()))
    again = await embedded().start()
    assert is_gone_or_zombie(backend)
    with suppress(*CUT_OFF):
        await busy
    connection.terminate()
    assert await query(again, "SELECT 1") == 1


def is_gone_or_zombie(pid):
    command_line = Path(f"/proc/{pid}/cmdline")
    return not command_line.exists() or not command_line.read_bytes()


async def test_an_orphaned_server_is_adopted_after_a_kill_of_the_service(embedded, service, tmp_path):
    killed = service(tmp_path / "data")
    dsn = (await asyncio.to_thread(killed.stdout.readline)).strip()
    orphan = server_pid(tmp_path / "data")
    killed.kill()
    killed.wait()
    assert running_dsn(tmp_path / "data") == dsn
    postgres = embedded()
    assert await postgres.start() == dsn
    assert server_pid(tmp_path / "data") == orphan
    watching = asyncio.create_task(postgres.watch())
    kill_server(tmp_path / "data")
    await until(lambda: is_another_server(tmp_path / "data", orphan))
    await cancelled(watching)
    assert await query(dsn, "SELECT 1") == 1
    await postgres.stop()


async def test_an_orphaned_server_with_outdated_settings_is_replaced(embedded, service, tmp_path):
    killed = service(tmp_path / "data")
    dsn = (await asyncio.to_thread(killed.stdout.readline)).strip()
    orphan = server_pid(tmp_path / "data")
    killed.kill()
    killed.wait()
    with (tmp_path / "data" / "postgres" / "hansa.conf").open("a") as settings:
        settings.write("# of an older release\n")
    assert await embedded().start() == dsn
    assert server_pid(tmp_path / "data") != orphan


async def test_a_kill_of_the_service_and_its_server_together_is_survived(embedded, service, tmp_path):
    killed = service(tmp_path / "data")
    dsn = (await asyncio.to_thread(killed.stdout.readline)).strip()
    await query(dsn, "CREATE TABLE kept (number int)")
    await query(dsn, "INSERT INTO kept VALUES (1)")
    killed.kill()
    kill_server(tmp_path / "data")
    killed.wait()
    assert await query(await embedded().start(), "SELECT count(*) FROM kept") == 1


def name_in_claims(data_dir, recorded):
    for claim in ("postgres/postmaster.pid", "postgres.socket/.s.PGSQL.5432.lock"):
        file = data_dir / claim
        lines = file.read_text().split("\n")
        file.write_text("\n".join([recorded, *lines[1:]]) if recorded else "")
        os.utime(file, (0, 0))


@pytest.mark.parametrize("recorded", [str(os.getpid()), ""], ids=["another-process", "nothing"])
async def test_a_claim_file_that_names_no_server_is_set_aside(embedded, tmp_path, recorded):
    postgres = embedded()
    await postgres.start()
    kill_server(tmp_path / "data")
    await postgres.stop()
    name_in_claims(tmp_path / "data", recorded)
    assert await query(await embedded().start(), "SELECT 1") == 1


async def test_a_zombie_counts_as_dead(embedded, tmp_path):
    postgres = embedded()
    await postgres.start()
    pid = kill_server(tmp_path / "data")
    await until(lambda: is_gone_or_zombie(pid))
    with pytest.raises(EmbeddedPostgresNotRunning):
        running_dsn(tmp_path / "data")
    os.kill(pid, 0)
    await postgres.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_start_cancelled_within_initdb_leaves_no_process_and_the_next_start_is_whole(
    embedded, tmp_path
):
    starting = asyncio.create_task(embedded(is_first=True).start())
    await until(lambda: list((tmp_path / "data").glob("postgres.new-*/cluster/base")))
    await cancelled(starting)
    assert not (tmp_path / "data" / "postgres").exists()
    assert await query(await embedded(is_first=True).start(), "SELECT 1") == 1
    assert not list((tmp_path / "data").glob("postgres.new-*"))


async def test_a_service_killed_within_initdb_leaves_a_directory_that_the_next_start_completes(
    embedded, service, tmp_path
):
    killed = service(tmp_path / "data", is_first=True)
    await until(lambda: list((tmp_path / "data").glob("postgres.new-*/cluster/base")))
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert await query(await embedded(is_first=True).start(), "SELECT 1") == 1
