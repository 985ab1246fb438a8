"""Directory of the temporary files of a test run: in memory if there is enough of it.

Every test gets a database of its own, and a disk needs up to ten times as long as memory to make one. The tests of
crashes kill processes, never the machine, so memory serves them as well as a disk.

A run that is killed leaves its files and its database servers, and memory has no other use for either: each run has a
directory of its own, locked while it runs, and begins with deleting those of runs that have ended.
"""

import atexit
import fcntl
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

MEMORY = Path("/dev/shm")
NEEDED_BYTES = 6 << 30
PREFIX = f"hansa-tests-{os.geteuid()}-"
LOCK = "run.lock"


def keep_temporary_files_in_memory() -> None:
    """Point TMPDIR to a new directory in memory, for this process and those it starts; a TMPDIR that is set is left as it is."""
    if "TMPDIR" in os.environ:
        return
    delete_ended(MEMORY)
    if _is_roomy(MEMORY):
        os.environ["TMPDIR"] = str(directory_of_run(MEMORY))
        tempfile.tempdir = None


def directory_of_run(memory: Path) -> Path:
    """Make a directory that is locked until this process and its forks have ended, and deleted when this process ends."""
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=memory))
    # The lock is there before the directory can be taken for one of an ended run.
    lock = os.open(directory / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    # Database servers run as another account, which has to reach their files.
    directory.chmod(0o711)
    owner = os.getpid()

    def delete() -> None:
        if os.getpid() == owner:
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(delete)
    return directory


def delete_ended(memory: Path) -> None:
    """End the processes that work in the directories of ended runs, and delete those directories."""
    for directory in memory.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(directory / LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end_processes_in(directory)
                shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(lock)


def _end_processes_in(directory: Path) -> None:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(directory):
                os.kill(int(process.name), signal.SIGKILL)


def _is_roomy(folder: Path) -> bool:
    try:
        found = os.statvfs(folder)
        available = next(
            int(line.split()[1]) * 1024
            for line in Path("/proc/meminfo").read_text().splitlines()
            if line.startswith("MemAvailable:")
        )
    except (OSError, StopIteration):
        return False
    is_usable = not found.f_flag & os.ST_NOEXEC and os.access(folder, os.W_OK | os.X_OK)
    return is_usable and min(found.f_bavail * found.f_frsize, available) >= NEEDED_BYTES
