"""Founded registries that have tables of a test's own: made in each test, they would cost a new database each time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncpg

from hansa.foundation.plumbing.settings import Settings
from tests.founded import Founded, FoundedRegistries, RegistriesOfATest
from tests.kept_databases import FoundedContent
from tests.registry import DatabaseFarm, StartRegistry


class FoundedWith(FoundedRegistries):
    """Source of the registries of a file: founded, then changed by a statement."""

    def __init__(self, farm: DatabaseFarm, directory: Path, statement: str) -> None:
        super().__init__(farm, directory)
        self._statement = statement

    @asynccontextmanager
    async def start_registry(self, directory: Path) -> AsyncIterator[StartRegistry]:
        """Yield a starter of registries like the fixture of that name, for one test."""
        registries = RegistriesOfATest(self._farm, self, directory)
        yield registries.start
        await registries.end()

    async def _found(self, settings: Settings) -> Founded:
        founded = await super()._found(settings)
        connection = await asyncpg.connect(founded.dsn)
        try:
            await connection.execute(self._statement)
        finally:
            await connection.close()
        return replace(founded, content=await FoundedContent.of(founded.dsn))
