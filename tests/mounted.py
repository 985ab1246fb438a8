"""File systems that a test mounts for the moment, where its account may."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def mounted(path: Path, options: str) -> Iterator[bool]:
    """A fresh file system in memory at `path`; yields False, with a plain directory, where mounting is refused."""
    path.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "hansa-test", str(path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
