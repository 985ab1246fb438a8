"""Running processes of one machine: each holds the lock of a file of its own until it ends.

- The kernel releases the lock when the process ends, however it ends; a process that is stopped or slow keeps it.
- A name is random and used once. A file without a lock is that of a process that has ended.
"""

import contextlib
import fcntl
import os
import secrets
from pathlib import Path

_DESCRIPTORS: set[int] = set()


class ProcessLock:
    """The lock of this process in a directory that the processes share."""

    def __init__(self, directory: Path) -> None:
        self.name = ""
        self._directory = directory
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Create and lock the file of this process, and delete those of processes that ended. Repeatable. Raises: OSError."""
        if self._descriptor is not None:
            return
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._directory.iterdir():
            _delete_unlocked(path)
        while self._descriptor is None:
            self.name = secrets.token_hex(8)
            descriptor = os.open(self._directory / self.name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Another process may have deleted the file before it was locked.
            if os.fstat(descriptor).st_nlink:
                self._descriptor = descriptor
                _DESCRIPTORS.add(descriptor)
            else:
                os.close(descriptor)

    def release(self) -> None:
        """Delete the file; entries that this process still owned count as those of a process that ended."""
        if self._descriptor is not None:
            (self._directory / self.name).unlink(missing_ok=True)
            _DESCRIPTORS.discard(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def is_held_by(self, name: str) -> bool:
        """Return whether the process of this name runs; True also where that cannot be found out."""
        try:
            descriptor = os.open(self._directory / name, os.O_RDONLY)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            # Shared, so that two processes that ask at once do not take each other for the owner.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False


def _delete_unlocked(path: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(descriptor)


def _close_in_child() -> None:
    """A forked child shares the locks, and would hold them beyond the death of its parent."""
    for descriptor in _DESCRIPTORS:
        os.close(descriptor)
    _DESCRIPTORS.clear()


os.register_at_fork(after_in_child=_close_in_child)
