"""Registries of tests, founded once and copied: the database is a template, the data directory is copied with it."""

import asyncio
import atexit
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

from hansa.doors.startup import prepared_database
from hansa.foundation.plumbing.keys.key_files import VARIABLE_PREFIX
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from tests.kept_databases import KEPT_MAX, FoundedContent, KeptDatabase
from tests.registry import DatabaseFarm, TestRegistry, name_of, on_database, open_registry, settings_of

FOUNDED_MAX = 16
"""A founded database takes 20 MB of memory in each worker; most combinations of settings are those of one file."""

# They differ for each registry, and what is founded does not depend on them.
NOT_COMPARED = {"database_url", "data_dir", "governed"}


class RecordedReads:
    """Settings that record which of them are read."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.read: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._settings, name)
        if name not in NOT_COMPARED:
            self.read[name] = value
        return value


@dataclass(frozen=True, eq=False)
class Founded:
    """A registry that never served: its database, its data directory, and the settings that founding it read."""

    dsn: str
    directory: Path
    read: dict[str, Any]
    content: FoundedContent
    kept: list[KeptDatabase] = field(default_factory=list)
    """Databases that hold what this one does, between two tests."""

    def suits(self, settings: Settings) -> bool:
        """Return whether founding with these settings would make the same."""
        return all(getattr(settings, name) == value for name, value in self.read.items())


class FoundedRegistries:
    """One founded registry for each combination of the settings that founding reads."""

    def __init__(self, farm: DatabaseFarm, directory: Path) -> None:
        self._farm = farm
        self._directory = directory
        self._founded: list[Founded] = []
        self._ended: list[tuple[Founded, KeptDatabase]] = []
        self._loop = asyncio.get_running_loop()

    async def of(self, settings: Settings) -> Founded:
        """The one that suits, founded now if there is none."""
        for founded in self._founded:
            if founded.suits(settings):
                self._founded.remove(founded)
                self._founded.append(founded)
                return founded
        newest = await self._found(settings)
        self._founded.append(newest)
        while len(self._founded) > FOUNDED_MAX:
            await self._forget(self._founded.pop(0))
        return newest

    async def opened(self, founded: Founded, pool_size: int) -> KeptDatabase:
        """Open a database with the content of `founded`: one that an earlier test used, or a copy."""
        for kept in founded.kept:
            if kept.database._pool_size == pool_size and self._is_loop_of_the_session():
                founded.kept.remove(kept)
                await kept.restore()
                return kept
        dsn = await self._farm.copy(founded.dsn, self._farm.unused())
        database = Database(dsn, pool_size=pool_size)
        await database.open()
        return KeptDatabase(database, founded.content)

    async def end(self, founded: Founded, kept: KeptDatabase) -> None:
        """Keep the database of a test that has ended, or drop it; the ones used longest ago go first."""
        if not (self._is_loop_of_the_session() and await kept.end_test()):
            await self._drop(kept)
            return
        founded.kept.append(kept)
        self._ended.append((founded, kept))
        while len(self._ended) > KEPT_MAX:
            other, oldest = self._ended.pop(0)
            # It may have been taken since, or ended again.
            if oldest in other.kept and (other, oldest) not in self._ended:
                other.kept.remove(oldest)
                await self._drop(oldest)

    async def clear(self) -> None:
        """Close every kept database."""
        for founded in self._founded:
            for kept in founded.kept:
                await kept.close()

    def _is_loop_of_the_session(self) -> bool:
        """Connections belong to a loop, and some tests have their own."""
        return asyncio.get_running_loop() is self._loop

    async def _forget(self, founded: Founded) -> None:
        """Drop a founded database that was used longest ago; copies of it that are in use stay."""
        while founded.kept:
            await self._drop(founded.kept.pop())
        await self._farm.drop(founded.dsn)

    async def _drop(self, kept: KeptDatabase) -> None:
        await kept.close()
        await self._farm.drop(kept.database.dsn)

    async def _found(self, settings: Settings) -> Founded:
        dsn = await self._farm.fresh()
        directory = self._directory / name_of(dsn)
        reads = RecordedReads(settings.model_copy(update={"database_url": dsn, "data_dir": directory}))
        async with prepared_database(cast("Settings", reads)):
            pass
        # The first connection to a finished database writes its cache of the catalog, which is copied with it.
        return Founded(dsn, directory, reads.read, await FoundedContent.of(dsn))


@cache
def founded_by(farm: DatabaseFarm) -> FoundedRegistries:
    """Return the founded registries that the registries on this server are copies of."""
    directory = Path(tempfile.mkdtemp(prefix="hansa-founded-"))
    atexit.register(shutil.rmtree, directory)
    return FoundedRegistries(farm, directory)


class RegistriesOfATest:
    """Starts the registries of one test, each on a database of its own."""

    def __init__(self, farm: DatabaseFarm, founded: FoundedRegistries, directory: Path) -> None:
        self._farm = farm
        self._founded = founded
        self._directory = directory
        self._stack = AsyncExitStack()
        self._copied: list[Founded] = []

    async def start(self, **overrides: object) -> TestRegistry:
        """A registry with these settings; no two of a test have the same keys."""
        return await self._stack.enter_async_context(self._started(overrides))

    async def end(self) -> None:
        """Stop them all and drop their databases."""
        await self._stack.aclose()

    @asynccontextmanager
    async def _started(self, overrides: dict[str, object]) -> AsyncIterator[TestRegistry]:
        settings = settings_of(self._farm.unused(), self._directory, **overrides)
        founded = await self._founded.of(settings)
        if founded in self._copied or _are_keys_given():
            opening = self._founded_anew(overrides)
        else:
            self._copied.append(founded)
            opening = self._copy_of(founded, settings)
        async with opening as registry:
            yield registry

    @asynccontextmanager
    async def _founded_anew(self, overrides: dict[str, object]) -> AsyncIterator[TestRegistry]:
        dsn = await self._farm.fresh()
        try:
            async with open_registry(dsn, self._directory / name_of(dsn), **overrides) as registry:
                yield registry
        finally:
            await self._farm.drop(dsn)

    @asynccontextmanager
    async def _copy_of(self, founded: Founded, settings: Settings) -> AsyncIterator[TestRegistry]:
        kept = await self._founded.opened(founded, settings.database_pool_size)
        dsn = kept.database.dsn
        directory = self._directory / name_of(dsn)
        try:
            shutil.copytree(founded.directory, directory)
            own = settings.model_copy(update={"database_url": dsn, "data_dir": directory})
            async with on_database(own, kept.database) as registry:
                yield registry
        finally:
            await self._founded.end(founded, kept)


@asynccontextmanager
async def open_copy(farm: DatabaseFarm, directory: Path, **overrides: object) -> AsyncIterator[TestRegistry]:
    """A registry with these settings for a file of tests: a copy, as those of `start_registry`."""
    registries = RegistriesOfATest(farm, founded_by(farm), directory)
    try:
        yield await registries.start(**overrides)
    finally:
        await registries.end()


def _are_keys_given() -> bool:
    return any(name.startswith(VARIABLE_PREFIX) for name in os.environ)
