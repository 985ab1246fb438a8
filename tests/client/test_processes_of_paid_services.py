"""Work belongs to a process while that process runs, however slow it is, and is given up at once when it ends."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from hansa_client.service.store import Claim, Entry, Payment, State, Store, StoreUnavailable, Work, open_store
from hansa_client.service.store.entry import STALL_SECONDS
from hansa_client.service.store.process_lock import ProcessLock
from tests.client.working_process import Open, WorkingProcess, opening
from tests.operation.registry_process import until
from tests.registry import DatabaseFarm

SECONDS = 120


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest, database_farm: DatabaseFarm, tmp_path: Path) -> str:
    return (
        await database_farm.fresh() if request.param == "postgresql" else f"sqlite:///{tmp_path / 'calls.db'}"
    )


@pytest.fixture
async def opened(url: str) -> AsyncIterator[Open]:
    async with opening(url) as open_one:
        yield open_one


async def claimed(store: Store, token_hash: str) -> Entry:
    return await store.claim(Claim(token_hash, f"use.{uuid4().hex}", store.new_owner(), "f", SECONDS))


def is_lost(entry: Entry) -> bool:
    return entry.state is State.LOST


async def until_taken(store: Store, token_hash: str, is_taken: Callable[[Entry], bool]) -> Entry:
    """A PostgreSQL notices the end of a session a moment later."""
    async with asyncio.timeout(SECONDS):
        while True:
            entry = await claimed(store, token_hash)
            if is_taken(entry):
                return entry
            await asyncio.sleep(0.02)


async def test_a_process_that_stands_still_keeps_its_work_beyond_the_lease_and_a_killed_one_loses_it_at_once(
    opened: Open, url: str
) -> None:
    store = await opened()
    names = ("stopped", "killed", "stopped for too long")
    stopped, killed, too_long = await asyncio.gather(*(WorkingProcess.start(url, name) for name in names))
    stopped.process.send_signal(signal.SIGSTOP)
    too_long.process.send_signal(signal.SIGSTOP)
    killed.process.kill()
    await killed.process.wait()
    await until_taken(store, "killed", is_lost)
    assert [due.token_hash for due in await store.due(10, 60)] == ["killed"]

    left = (await claimed(store, "stopped")).lease_left
    await asyncio.sleep(max(left, 0))
    found = await until_taken(store, "stopped", lambda entry: entry.lease_left < 0)
    assert found.state is State.RUNNING
    owner = (await claimed(store, "stopped for too long")).owner
    assert await store.renew("stopped for too long", owner, -STALL_SECONDS - 1)
    assert [due.token_hash for due in await store.due(10, 60)] == ["stopped for too long"]

    stopped.process.send_signal(signal.SIGCONT)
    too_long.process.send_signal(signal.SIGCONT)
    assert [await stopped.finish(), await too_long.finish()] == ["stored", "refused"]
    assert (await claimed(store, "stopped")).state is State.ANSWERED


async def test_a_claim_of_a_process_that_ended_is_taken_over_before_its_lease_ends(opened: Open) -> None:
    ended, store = await opened(), await opened()
    first = await claimed(ended, "t")
    assert (await claimed(store, "t")).owner == first.owner
    await ended.close()
    taken = await until_taken(store, "t", lambda entry: entry.owner != first.owner)
    assert (taken.use_id, taken.state) == (first.use_id, State.CLAIMED)


async def test_a_process_whose_session_is_cut_claims_nothing_until_it_holds_its_lock_again(
    database_farm: DatabaseFarm,
) -> None:
    url = await database_farm.fresh()
    store, other = open_store(url), open_store(url)
    await store.open()
    await other.open()
    owner = (await claimed(store, "t")).owner
    assert await store.start("t", owner, Work("{}", Payment.HELD, b"sealed token"))
    server = await asyncpg.connect(url, database="postgres")
    connection = await asyncpg.connect(url)
    name = await connection.fetchval("SELECT current_database()")
    await connection.close()
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database"
        " WHERE locktype = 'advisory' AND d.datname = $1"
    )
    # Until the sessions were seen to be cut, none can be opened.
    await server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
    assert len(await server.fetch(cut, name)) == 2
    for one in (store, other):
        await until(lambda one=one: not _has_lock(one))
    await server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
    await server.close()
    for one in (store, other):
        await until(lambda one=one: _has_lock(one))
    assert (await claimed(other, "t")).state is State.RUNNING
    await store.close()
    assert (await until_taken(other, "t", is_lost)).owner == owner
    await other.close()


def _has_lock(store: Store) -> bool:
    try:
        store.new_owner()
    except StoreUnavailable:
        return False
    return True


def test_a_forked_child_does_not_hold_the_lock_of_a_parent_that_ended(tmp_path: Path) -> None:
    lines = (
        "import os, pathlib, sys, time",
        "from hansa_client.service.store.process_lock import ProcessLock",
        "lock = ProcessLock(pathlib.Path(sys.argv[1]))",
        "lock.acquire()",
        "child = os.fork()",
        "os.write(1, f'{lock.name} {os.getpid()}\\n'.encode())",
        "child or time.sleep(60)",
        "os._exit(0)",
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", "\n".join(lines), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout
    lines_of_both = [parent.stdout.readline().split() for _ in range(2)]
    name, child = next(line for line in lines_of_both if int(line[1]) != parent.pid)
    parent.wait()
    try:
        assert (tmp_path / name).exists()
        assert not ProcessLock(tmp_path).is_held_by(name)
    finally:
        os.kill(int(child), signal.SIGKILL)


def test_the_file_of_a_process_that_ended_is_deleted_by_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "0123456789abcdef").touch()
    running, started = ProcessLock(tmp_path), ProcessLock(tmp_path)
    running.acquire()
    started.acquire()
    assert {path.name for path in tmp_path.iterdir()} == {running.name, started.name}
    assert running.is_held_by(started.name)
    assert not running.is_held_by("0123456789abcdef")
