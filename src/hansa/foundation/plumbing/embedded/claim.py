"""The exclusive hold of one service on its data directory."""

import fcntl
import os
import weakref
from pathlib import Path

from .errors import DataDirectoryInUse


class Claim:
    """An exclusive file lock; the kernel ends it with the process, however that dies.

    Raises: DataDirectoryInUse when another live service holds it.
    """

    def __init__(self, path: Path) -> None:
        # Python opens files close-on-exec, so PostgreSQL never inherits the lock.
        self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 20, 0).decode("ascii", "replace").strip()
            self.release()
            raise DataDirectoryInUse(
                f"The data directory {path.parent} is in use by another service (process {holder or 'unknown'}); "
                "stop it or choose another --data-dir."
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, b"%d\n" % os.getpid(), 0)
        _held.add(self)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_claimed(path: Path) -> bool:
    """Whether the process that last took this claim seems to run. Asking for the lock itself could refuse it to others."""
    try:
        os.kill(int(path.read_text()), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


_held: weakref.WeakSet[Claim] = weakref.WeakSet()


def _let_go_in_forked_child() -> None:
    # A forked worker shares the lock and would keep it beyond the death of the service.
    for claim in list(_held):
        claim.release()


os.register_at_fork(after_in_child=_let_go_in_forked_child)
