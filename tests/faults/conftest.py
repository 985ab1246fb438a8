"""Tiers of these tests, and the connection that they use."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.operation.conftest import founded_data, operated
from tests.properties.scale import TIER
from tests.registry import TestRegistry

__all__ = ["founded_data", "operated"]

# Mounting a small disk takes the right to mount, which whoever runs the tests of a commit need not have.
collect_ignore = ["test_disk_full.py"] if TIER == 0 else []


@pytest.fixture
async def observer(registry: TestRegistry) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection that never fails."""
    connection = await asyncpg.connect(registry.database.dsn)
    yield connection
    await connection.close()
