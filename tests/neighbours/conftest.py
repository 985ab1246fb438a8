"""Two registries that are peers of each other, shared by the tests of a file; and calls between them that get lost."""

from collections.abc import AsyncIterator

import pytest

from tests.neighbours.crossing_scene import LostCalls
from tests.neighbours.two_registries import Neighbours, neighbours
from tests.registry import DatabaseFarm


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> LostCalls:
    return LostCalls(monkeypatch)
