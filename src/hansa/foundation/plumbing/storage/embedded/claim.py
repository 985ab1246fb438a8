"""The exclusive hold of one service, or one command, on a data directory."""

import fcntl
import os
import weakref
from pathlib import Path

from .errors import DataDirectoryInUse

HOLDER_MAX_BYTES = 200


class Claim:
    """An exclusive file lock; the kernel ends it with the process, however that dies.

    The file names the holder: its process id in the first line, its command in the second, which a service leaves empty.

    Raises: DataDirectoryInUse when another live process holds it.
    """

    def __init__(self, path: Path, command: str = "") -> None:
        # Python opens files close-on-exec, so PostgreSQL never inherits the lock.
        self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            recorded = os.pread(self._descriptor, HOLDER_MAX_BYTES, 0).decode("utf-8", "replace")
            process, command, *_ = [*recorded.split("\n"), "", ""]
            self.release()
            raise DataDirectoryInUse(path.parent, process=process, command=command) from None
        holder = f"{os.getpid()}\n{command}\n".encode()[:HOLDER_MAX_BYTES]
        # Written before what an earlier holder left is cut off: whoever reads meanwhile finds two whole lines.
        os.pwrite(self._descriptor, holder, 0)
        os.ftruncate(self._descriptor, len(holder))
        _held.add(self)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_claimed(path: Path) -> bool:
    """Return whether the process that last took this claim seems to run. Asking for the lock itself could refuse it to others."""
    try:
        os.kill(int(path.read_text().partition("\n")[0]), 0)
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
