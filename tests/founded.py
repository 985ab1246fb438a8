"""Registries of tests, founded once and copied: the database is a template, the data directory is copied with it."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import asyncpg

from hansa.doors.startup import prepared_database
from hansa.foundation.plumbing.keys import VARIABLE_PREFIX
from hansa.foundation.plumbing.settings import Settings
from tests.registry import DatabaseFarm, TestRegistry, name_of, open_prepared, open_registry, settings_of

# They differ for each registry, and what is founded does not depend on them.
NOT_COMPARED = {"database_url", "data_dir"}


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

    def suits(self, settings: Settings) -> bool:
        """Whether founding with these settings would make the same."""
        return all(getattr(settings, name) == value for name, value in self.read.items())


class FoundedRegistries:
    """One founded registry for each combination of the settings that founding reads."""

    def __init__(self, farm: DatabaseFarm, directory: Path) -> None:
        self._farm = farm
        self._directory = directory
        self._founded: list[Founded] = []

    async def of(self, settings: Settings) -> Founded:
        """The one that suits, founded now if there is none."""
        for founded in self._founded:
            if founded.suits(settings):
                return founded
        self._founded.append(await self._found(settings))
        return self._founded[-1]

    async def _found(self, settings: Settings) -> Founded:
        dsn = await self._farm.fresh()
        directory = self._directory / name_of(dsn)
        reads = RecordedReads(settings.model_copy(update={"database_url": dsn, "data_dir": directory}))
        async with prepared_database(cast("Settings", reads)):
            pass
        # The first connection to a finished database writes its cache of the catalog, which is copied with it.
        await (await asyncpg.connect(dsn)).close()
        return Founded(dsn, directory, reads.read)


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
        dsn = self._farm.unused()
        directory = self._directory / name_of(dsn)
        settings = settings_of(dsn, directory, **overrides)
        founded = await self._founded.of(settings)
        if founded in self._copied or _are_keys_given():
            await self._farm.fresh(dsn)
            opening = open_registry(dsn, directory, **overrides)
        else:
            self._copied.append(founded)
            await self._farm.copy(founded.dsn, dsn)
            shutil.copytree(founded.directory, directory)
            opening = open_prepared(settings, dsn)
        try:
            async with opening as registry:
                yield registry
        finally:
            await self._farm.drop(dsn)


def _are_keys_given() -> bool:
    return any(name.startswith(VARIABLE_PREFIX) for name in os.environ)
