"""Registries in processes of their own; whatever a test leaves running is ended with it."""

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.operation.registry_process import RegistryProcess, is_alive, postgres_pid, until

Launch = Callable[..., RegistryProcess]


@pytest.fixture
async def operated(tmp_path: Path) -> AsyncIterator[Launch]:
    """Makes registries, not yet started: `operated("name", port=…, workers=…, SETTING="value")`."""
    made: list[RegistryProcess] = []

    def make(name: str = "data", **options: object) -> RegistryProcess:
        made.append(RegistryProcess(tmp_path / name, **options))
        return made[-1]

    yield make
    for registry in made:
        await registry.kill()
        await end_postgres(registry.data_dir)


@pytest.fixture(scope="session")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RegistryProcess]:
    """A running registry, shared by tests that leave it as it is."""
    registry = RegistryProcess(tmp_path_factory.mktemp("running") / "data")
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
