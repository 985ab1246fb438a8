"""One registry for the tests of a file, where each brings actors of its own and changes nothing that others look at."""

from collections.abc import AsyncIterator

import pytest

from tests.exchange import Market, market
from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.operation.conftest import founded_data
from tests.registry import DatabaseFarm, StartRegistry, TestAgent, TestRegistry
from tests.rooms.commerce.agreements import Agreements, open_agreements
from tests.rooms.ledger.purses import Purses, open_purses

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


@pytest.fixture(scope="module")
async def market_of_file(
    database_farm: DatabaseFarm,
    founded_registries: FoundedRegistries,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Market]:
    """A registry whose exchange is on; each test has listings of its own."""
    registries = RegistriesOfATest(database_farm, founded_registries, tmp_path_factory.mktemp("market"))
    registry = await registries.start(
        rate_limit_reads="off", exchange_enabled=True, genesis_grants_per_hour=1000
    )
    yield await market(registry)
    await registries.end()


@pytest.fixture
async def registry_of_test(start_registry: StartRegistry) -> TestRegistry:
    """In such a file, for a test that needs one which no other has touched."""
    return await start_registry()


@pytest.fixture(scope="module")
async def purses_of_file(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Purses]:
    """A registry whose treasury can pay the highest amount, for the transfers of a file."""
    directory = tmp_path_factory.mktemp("purses")
    async with open_purses(database_farm, directory, genesis_supply="90000000000") as purses:
        yield purses


@pytest.fixture(scope="module")
async def refused_payer(purses_of_file: Purses) -> TestAgent:
    """An agent of that registry with 100 units; each of its requests is refused."""
    return await purses_of_file.agent("100")


@pytest.fixture(scope="module")
async def unpaid(purses_of_file: Purses) -> TestAgent:
    """The payee of those requests."""
    return await purses_of_file.agent()


@pytest.fixture(scope="module")
async def agreements_of_file(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Agreements]:
    """A registry with contractors and providers, for the contracts of a file."""
    async with open_agreements(database_farm, tmp_path_factory.mktemp("agreements")) as agreements:
        yield agreements
