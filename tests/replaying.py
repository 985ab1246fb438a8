"""Replays of the registries of tests, on scratch databases of the server of the tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from hansa.doors.replay import ReplayRequest, Report, prepare, replay_on
from hansa.foundation.plumbing.settings import Settings, Value
from tests.registry import DatabaseFarm, TestRegistry


@dataclass(frozen=True)
class Replays:
    """Scratch databases are copies of a template."""

    farm: DatabaseFarm
    template: str

    async def of(self, registry: TestRegistry, first: int = 1, **changes: Value) -> Report:
        """Replay everything from this sequence number on, in one snapshot of the registry."""
        connection = await asyncpg.connect(registry.database.dsn)
        try:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                request = ReplayRequest(first, None, changes)
                return await replay_on(connection, self._scratch, registry.settings, request)
        finally:
            await connection.close()

    async def _scratch(self) -> str:
        return await self.farm.copy(self.template, self.farm.unused())


@asynccontextmanager
async def scratch_template(farm: DatabaseFarm, settings: Settings) -> AsyncIterator[Replays]:
    """Yield replays whose template is dropped at the end."""
    template = await farm.fresh()
    await prepare(template, settings)
    yield Replays(farm, template)
    await farm.drop(template)
