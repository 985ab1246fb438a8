"""Registries in processes of their own; whatever a test leaves running is ended with it."""

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.data_directories import make_small
from tests.made_once import made_once
from tests.operation.registry_process import RegistryProcess, is_alive, postgres_pid, until
from tests.properties.scale import TIER

Launch = Callable[..., RegistryProcess]

# Three registries that found their databases at one time take a minute on a busy machine, an installation takes more.
LONG = [
    "test_authority_rotation_of_peers.py",
    "test_enrolling_commands.py",
    "test_epochs_in_operation.py",
    "test_own_checkout.py",
]
collect_ignore = LONG if TIER == 0 else []


@pytest.fixture(scope="session")
async def founded_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a registry that was started once, with the usual settings, and stopped.

    A first start costs four times as much as a later one: the processes that run tests beside each other make one between them.
    """
    with made_once(tmp_path_factory, "founded") as (directory, is_missing):
        registry = RegistryProcess(directory / "data")
        if is_missing:
            directory.mkdir()
            await registry.start()
            ended = await registry.stop()
            assert ended.code == 0, ended
            make_small(registry.data_dir)
    return registry.data_dir


@pytest.fixture
async def operated(tmp_path: Path, founded_data: Path, migrated_data: Path) -> AsyncIterator[Launch]:
    """Makes registries, not yet started: `operated("name", port=…, workers=…, SETTING="value")`.

    The first one of a test may start as a copy of one that was founded: no two have the same keys.
    """
    made: list[RegistryProcess] = []

    def make(name: str = "data", **options: object) -> RegistryProcess:
        founded = None if made else founded_data
        made.append(RegistryProcess(tmp_path / name, founded=founded, migrated=migrated_data, **options))
        return made[-1]

    yield make
    for registry in made:
        await registry.kill()
        await end_postgres(registry.data_dir)


@pytest.fixture(scope="session")
async def running(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    """A running registry, shared by tests that leave it as it is."""
    registry = RegistryProcess(tmp_path_factory.mktemp("running") / "data", founded=founded_data)
    try:
        await registry.start()
        yield registry
        await registry.stop()
    finally:
        await registry.kill()
        await end_postgres(registry.data_dir)


async def end_postgres(data_dir: Path) -> None:
    """End a server that its killed service left behind."""
    pid = postgres_pid(data_dir)
    if pid is not None and is_alive(pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGQUIT)
        await until(lambda: not is_alive(pid))
