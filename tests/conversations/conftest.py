"""One registry for the tests of a file, where each brings actors of its own and changes nothing that others look at."""

from collections.abc import AsyncIterator

import pytest

from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.operation.conftest import founded_data
from tests.registry import DatabaseFarm, StartRegistry, TestRegistry

__all__ = ["founded_data"]


@pytest.fixture(scope="module")
async def registry_of_file(
    database_farm: DatabaseFarm,
    founded_registries: FoundedRegistries,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[TestRegistry]:
    """A file shares it under the name that its tests use, `registry`."""
    registries = RegistriesOfATest(database_farm, founded_registries, tmp_path_factory.mktemp("registry"))
    yield await registries.start(rate_limit_reads="off")
    await registries.end()


@pytest.fixture
async def registry_of_test(start_registry: StartRegistry) -> TestRegistry:
    """In such a file, for a test that needs one which no other has touched."""
    return await start_registry()
