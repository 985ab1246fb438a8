"""The registry is not ready while its database cannot write, and is again as soon as it can."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from hansa.foundation.plumbing.process.write_probe import WRITE_PROBE, WriteProbe
from hansa.foundation.values.errors import Unavailable
from tests.data_directories import copy_data_directory
from tests.faults.small_disk import SmallDisk, small_disk
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import RegistryProcess, free_port, readiness
from tests.registry import TestRegistry

DISK_MEGABYTES = 320
STATE_SECONDS = 120


@pytest.fixture
def disk(tmp_path: Path, founded_data: Path) -> Iterator[SmallDisk]:
    """A disk with the data of a registry that was founded before."""
    with small_disk(tmp_path / "data", DISK_MEGABYTES) as made:
        for entry in founded_data.iterdir():
            copy_data_directory(entry, made.path)
        yield made


@pytest.fixture
async def registry_on_it(disk: SmallDisk) -> AsyncIterator[RegistryProcess]:
    made = RegistryProcess(disk.path, port=free_port())
    yield made
    await made.kill()
    await end_postgres(disk.path)


async def test_a_full_disk_is_seen_without_any_traffic_and_so_is_its_end(
    disk: SmallDisk, registry_on_it: RegistryProcess
):
    await registry_on_it.start()
    assert await readiness(registry_on_it.url) == 200

    async def reaches(status: int) -> None:
        async with asyncio.timeout(STATE_SECONDS):
            while await readiness(registry_on_it.url) != status:
                if status != 200:
                    disk.fill()

    await reaches(503)
    disk.free()
    await reaches(200)


async def test_a_database_that_takes_no_writes_is_not_ready(registry: TestRegistry):
    assert (await registry.http.get("/readyz")).status_code == 200
    WRITE_PROBE.put(registry.runtime, WriteProbe(registry.database, good_seconds=0))
    connection = await asyncpg.connect(registry.database.dsn)
    name = await connection.fetchval("SELECT current_database()")
    await connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await connection.close()
    answer = await registry.http.get("/readyz")
    while answer.status_code == 503 and "does not accept writes" not in answer.text:
        answer = await registry.http.get("/readyz")
    assert answer.status_code == 503
    assert "retry-after" in answer.headers


async def test_the_probe_writes_to_the_disk(registry: TestRegistry):
    async def temporary_bytes() -> int:
        return await registry.database.read(
            lambda tx: tx.fetchval(
                "SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()"
            )
        )

    before = await temporary_bytes()
    await WriteProbe(registry.database).require()
    async with asyncio.timeout(STATE_SECONDS):
        while await temporary_bytes() < before + 500_000:
            pass
    assert await temporary_bytes() < before + 4_000_000


async def test_many_that_ask_at_once_share_one_probe(registry: TestRegistry):
    probe = WriteProbe(registry.database)
    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(probe.require())
    await registry.database.close()
    await probe.require()
    with pytest.raises(Unavailable):
        await WriteProbe(registry.database).require()
