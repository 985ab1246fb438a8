"""The disk under the database runs full during a storm: the service says so, loses nothing, and comes back by itself."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres, running_dsn
from tests.faults.small_disk import SmallDisk, small_disk
from tests.operation.conftest import end_postgres
from tests.operation.history import History, Operation, Outcome, read_history
from tests.operation.nothing_lost import Finding, find_what_is_wrong, rude_answers
from tests.operation.registry_process import RegistryProcess, free_port, health, until
from tests.operation.storm import Storm
from tests.properties.scale import by_tier, printed_seed

FILLS = by_tier(0, 3, 30)
CLIENTS = 16
# Room for a fresh database and the write-ahead log that it keeps.
DISK_MEGABYTES = 320
REFUSALS_AWAITED = 50
FULL_SECONDS = 90
# The pause between attempts to start the database grows to a quarter of a minute.
RECOVERY_SECONDS = 120
QUIET_SECONDS = (0.5, 2.0)

_WRITE_LOG = "SELECT pg_logical_emit_message(false, 'test', repeat(md5(random()::text), 100000), true)"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "data", DISK_MEGABYTES) as made:
        yield made


@pytest.fixture
async def registry(disk: SmallDisk) -> AsyncIterator[RegistryProcess]:
    """A registry whose data directory is the small disk; its log is elsewhere."""
    made = RegistryProcess(
        disk.path, port=free_port(), TRUSTED_PROXIES="127.0.0.1", GENESIS_SUPPLY="100000000"
    )
    yield made
    await made.kill()
    await end_postgres(disk.path)


async def test_nothing_is_lost_when_the_disk_runs_full_and_all_goes_on_when_there_is_space(
    disk: SmallDisk, registry: RegistryProcess, tmp_path: Path
):
    seed = printed_seed()
    random = Random(seed)
    await registry.start()
    history = History(tmp_path / "history.jsonl")
    storm = Storm(registry.url, history, seed, clients=CLIENTS, agents=CLIENTS)
    await storm.gather()
    storm.rage()
    for number in range(FILLS):
        await asyncio.sleep(random.uniform(*QUIET_SECONDS))
        disk.fill()
        if number % 2:
            await _exhaust_the_log(disk)
        await _run_full(disk, history)
        disk.free()
        await _is_back(registry, history)
    await storm.calm()
    unknown = [one for one in read_history(history.path) if one.outcome is Outcome.UNKNOWN]
    await storm.settle(unknown)
    await storm.close()
    history.close()
    assert (await registry.stop()).code == 0
    settled = read_history(history.path)
    assert await _wrong(disk, settled) == []
    assert rude_answers(settled) == []
    outcomes = Counter(one.outcome.value for one in settled)
    assert outcomes[Outcome.UNKNOWN] == 0
    print(
        f"{FILLS} times full: {dict(outcomes)}, {len(unknown)} were unknown before they were asked for again"
    )


def _recorded(history: History, status: int) -> int:
    return history.path.read_text().count(f'"status": {status}')


async def _run_full(disk: SmallDisk, history: History) -> None:
    """Fill the disk, and whatever the database frees, until many were refused."""
    before = _recorded(history, 503)

    def is_refusing() -> bool:
        disk.fill()
        return _recorded(history, 503) >= before + REFUSALS_AWAITED

    await until(is_refusing, FULL_SECONDS)


async def _exhaust_the_log(disk: SmallDisk) -> None:
    """Write to the write-ahead log alone until there is no room for it, which ends the database."""
    connection = await asyncpg.connect(running_dsn(disk.path))
    async with asyncio.timeout(FULL_SECONDS):
        while not connection.is_closed():
            disk.fill()
            with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                await connection.execute(_WRITE_LOG)


async def _is_back(registry: RegistryProcess, history: History) -> None:
    before = _recorded(history, 200)
    await until(lambda: _recorded(history, 200) >= before + REFUSALS_AWAITED, RECOVERY_SECONDS)
    assert await health(registry.url) == 200


async def _wrong(disk: SmallDisk, settled: list[Operation]) -> list[Finding]:
    postgres = EmbeddedPostgres(disk.path)
    connection = await asyncpg.connect(await postgres.start())
    inputs = await find_what_is_wrong(connection, settled)
    await connection.close()
    await postgres.stop()
    return inputs
