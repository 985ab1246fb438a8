"""Registries that have tables of a file's own: the file names the statement that makes them in `TABLES`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.registry import DatabaseFarm, TestRegistry
from tests.rooms.founded_with import FoundedWith


@pytest.fixture(scope="module")
async def founded_with_tables(
    request: pytest.FixtureRequest, database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FoundedWith]:
    founded = FoundedWith(database_farm, tmp_path_factory.mktemp("founded"), request.module.TABLES)
    yield founded
    await founded.clear()


@pytest.fixture
async def registry_with_tables(
    founded_with_tables: FoundedWith, tmp_path: Path
) -> AsyncIterator[TestRegistry]:
    """Such a file takes it under the name that its tests use, `registry`."""
    async with founded_with_tables.start_registry(tmp_path) as start_registry:
        yield await start_registry()
