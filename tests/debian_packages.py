"""Debian's packages that tests need, installed where they are absent. apt takes one process at a time and does not wait for it."""

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INSTALL_SECONDS = 300
LOCK = Path(tempfile.gettempdir()) / f"hansa-tests-packages-{os.geteuid()}.lock"


def install(package: str) -> None:
    """Raises: CalledProcessError, OSError where there is no apt."""
    with alone():
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", package]):
            subprocess.run(
                ["apt-get", "-q", *arguments],
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                timeout=INSTALL_SECONDS,
                check=True,
                stdin=subprocess.DEVNULL,
            )


@contextmanager
def alone() -> Iterator[None]:
    """While this is open no other process of the tests installs a package."""
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
