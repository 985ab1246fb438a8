import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from tests.data_directories import copy_data_directory, make_small
from tests.made_once import made_once

SERVICE = """
import asyncio, sys
from pathlib import Path
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from tests.data_directories import copy_data_directory, make_small
from tests.made_once import made_once

async def serve():
    print(await EmbeddedPostgres(Path(sys.argv[1])).start(), flush=True)
    await asyncio.Event().wait()

asyncio.run(serve())
"""


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory whose name is short: a socket in it must fit into the 107 bytes that a socket's address may have."""
    with tempfile.TemporaryDirectory(prefix="hansa-") as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
async def resting_cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose server was started once and stopped: initdb takes most of the time of a first start."""
    with made_once(tmp_path_factory, "resting_cluster") as (directory, is_missing):
        if is_missing:
            postgres = EmbeddedPostgres(directory / "data")
            await postgres.start()
            await postgres.stop()
            make_small(directory / "data")
    return directory / "data"


def put_cluster(resting_cluster: Path, data_dir: Path) -> None:
    if not data_dir.exists():
        copy_data_directory(resting_cluster, data_dir)


@pytest.fixture
async def embedded(tmp_path: Path, resting_cluster: Path) -> AsyncIterator[Callable[..., EmbeddedPostgres]]:
    """Yield a maker of services, which are stopped when the test ends.

    Their first start is a later one, of a copy of a server that was started before, unless it `is_first`.
    """
    made: list[EmbeddedPostgres] = []

    def make(data_dir: Path = tmp_path / "data", *, is_first: bool = False) -> EmbeddedPostgres:
        if not is_first:
            put_cluster(resting_cluster, data_dir)
        made.append(EmbeddedPostgres(data_dir))
        return made[-1]

    yield make
    for postgres in made:
        await postgres.stop()


@pytest.fixture
def service(resting_cluster: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts services as processes of their own, as `embedded` does; those still alive are killed when the test ends."""
    processes: list[subprocess.Popen[str]] = []

    def start(data_dir: Path, *, is_first: bool = False) -> subprocess.Popen[str]:
        if not is_first:
            put_cluster(resting_cluster, data_dir)
        command = [sys.executable, "-c", SERVICE, str(data_dir)]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()
