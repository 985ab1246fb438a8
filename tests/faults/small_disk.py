"""A disk of a few hundred megabytes, which a test fills and frees."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PIECE = 2**20


class SmallDisk:
    """A file system in memory, mounted at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    @property
    def free_bytes(self) -> int:
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def fill(self) -> None:
        """Leave no space; a second call takes the space that was freed meanwhile."""
        with self._ballast.open("ab", buffering=0) as ballast:
            for size in (PIECE, 4096, 1):
                self._write_all(ballast.fileno(), bytes(size))

    def free(self) -> None:
        self._ballast.unlink()

    @staticmethod
    def _write_all(ballast: int, piece: bytes) -> None:
        while True:
            try:
                os.write(ballast, piece)
            except OSError:
                return


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount one for the moment. Needs the right to mount; a machine that refuses it fails the test."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "hansa-test", str(path)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    assert mounted.returncode == 0, f"this account cannot limit the space of a directory: {mounted.stderr}"
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
