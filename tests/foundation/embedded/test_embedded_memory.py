"""The embedded server keeps more of its tables on a larger machine, within bounds."""

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.embedded.configuration import buffers_mib
from tests.registry import DatabaseFarm

GIB = 1 << 30


@pytest.mark.parametrize(
    ("memory_gib", "mib"), [(0.25, 64), (0.5, 64), (1, 128), (2, 256), (4, 512), (24, 1024), (1000, 1024)]
)
def test_an_eighth_of_the_memory_between_64_mib_and_1_gib(memory_gib: float, mib: int):
    assert buffers_mib(int(memory_gib * GIB)) == mib


async def test_the_server_runs_with_what_is_right_for_this_machine(database_farm: DatabaseFarm):
    connection = await asyncpg.connect(await database_farm.fresh())
    returned = await connection.fetchval(
        "SELECT setting::bigint * 8 / 1024 FROM pg_settings WHERE name = 'shared_buffers'"
    )
    await connection.close()
    assert 64 <= returned <= 1024
