"""Things that the processes that run tests beside each other make once between them."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.workers import is_worker


@contextmanager
def made_once(factory: pytest.TempPathFactory, name: str) -> Iterator[tuple[Path, bool]]:
    """Yield a folder that all processes share, and whether it is still to be made; the others wait until it is.

    It counts as made when the block ends without an error; the remains of a failed one are removed before the next.
    """
    directory = factory.getbasetemp()
    if is_worker():
        directory = directory.parent
    folder, mark = directory / name, directory / f"{name}.made"
    with (directory / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_missing = not mark.exists()
        if is_missing:
            shutil.rmtree(folder, ignore_errors=True)
        yield folder, is_missing
        mark.touch()
