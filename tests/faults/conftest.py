"""Tiers of these tests, and the connection that they use."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import asyncpg
import pytest

from tests.faults.completed import CompletedActs
from tests.faults.unchanged import FailingActs
from tests.operation.conftest import founded_data, operated
from tests.properties.scale import TIER
from tests.registry import DatabaseFarm, TestRegistry

__all__ = ["founded_data", "operated"]

# Mounting a small disk takes the right to mount, which whoever runs the tests of a commit need not have.
collect_ignore = ["test_disk_full.py", "test_stalled_standby.py"] if TIER == 0 else []


@pytest.fixture(scope="module")
async def failing(
    request: pytest.FixtureRequest, database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """Fail each statement of an act of the table that is the parameter: `await failing(name)`."""
    table: FailingActs[Any] | CompletedActs = request.param
    async with table.open_stage(database_farm, tmp_path_factory.mktemp(table.subject)) as stage:
        yield partial(table.fail, stage=stage)


@pytest.fixture
async def observer(registry: TestRegistry) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection that never fails."""
    connection = await asyncpg.connect(registry.database.dsn)
    yield connection
    await connection.close()
