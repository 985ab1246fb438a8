"""Fixtures: a real PostgreSQL for the whole run, a fresh registry for each test that asks for one."""

import gc
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hansa.foundation.plumbing.embedded import EmbeddedPostgres
from hansa.foundation.plumbing.settings import read_settings
from tests.memory_directory import keep_temporary_files_in_memory
from tests.registry import (
    DatabaseFarm,
    StartRegistry,
    TestRegistry,
    care_for_no_crash,
    name_of,
    open_registry,
)

keep_temporary_files_in_memory()

# Thousands of tests stay collected by the runner, and the usual thresholds look through them again and again.
gc.set_threshold(50_000, 20, 20)

# Files here wait longest, for the processes that they start. Begun first, none is left to one worker at the end.
LONGEST_FIRST = ("operation", "doors", "browser", "faults", "openapi", "hostile", "properties", "foundation")
CORES = len(os.sched_getaffinity(0))
WORKERS_MAX = 6

for name in [variable for variable in os.environ if variable.lower() in type(read_settings()).model_fields]:
    if name != "DATABASE_URL":
        del os.environ[name]


def pytest_xdist_auto_num_workers() -> int:
    """Workers of `-n auto`: more than cores, because tests that start processes wait for them half of the time."""
    return min(CORES + (CORES + 1) // 2, WORKERS_MAX)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files that take longest first; within a file the order stays."""
    tests = config.rootpath / "tests"

    def rank(item: pytest.Item) -> int:
        folder = item.path.relative_to(tests).parts[0] if item.path.is_relative_to(tests) else ""
        return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=rank)


@pytest.fixture(scope="session")
async def postgres() -> AsyncIterator[str]:
    """The DSN of a server with rights to create databases: DATABASE_URL where set, else an embedded one."""
    given = os.environ.pop("DATABASE_URL", None)
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="hansa-test-") as directory:
        server = EmbeddedPostgres(Path(directory))
        dsn = await server.start()
        await care_for_no_crash(dsn)
        yield dsn
        await server.stop()


@pytest.fixture(scope="session")
async def database_farm(postgres: str) -> AsyncIterator[DatabaseFarm]:
    """Makes fresh migrated databases quickly, from a template."""
    farm = DatabaseFarm(postgres)
    await farm.prepare()
    yield farm
    await farm.clear()


@pytest.fixture
async def start_registry(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[StartRegistry]:
    """Start a registry in process with these settings, on a fresh database: `await start_registry(name=value)`."""
    async with AsyncExitStack() as stack:

        async def start(**settings: object) -> TestRegistry:
            dsn = await database_farm.fresh()
            stack.push_async_callback(database_farm.drop, dsn)
            directory = tmp_path / name_of(dsn)
            return await stack.enter_async_context(open_registry(dsn, directory, **settings))

        yield start


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    """A freshly migrated registry in process, with the usual settings."""
    return await start_registry()
