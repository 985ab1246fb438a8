import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from hansa.foundation.plumbing.embedded import EmbeddedPostgres

SERVICE = """
import asyncio, sys
from pathlib import Path
from hansa.foundation.plumbing.embedded import EmbeddedPostgres

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


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[Callable[..., EmbeddedPostgres]]:
    """Makes services; what they started is stopped when the test ends."""
    made: list[EmbeddedPostgres] = []

    def make(data_dir: Path = tmp_path / "data") -> EmbeddedPostgres:
        made.append(EmbeddedPostgres(data_dir))
        return made[-1]

    yield make
    for postgres in made:
        await postgres.stop()


@pytest.fixture
def service() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Starts services as processes of their own; those still alive are killed when the test ends."""
    processes: list[subprocess.Popen[str]] = []

    def start(data_dir: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SERVICE, str(data_dir)]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()
