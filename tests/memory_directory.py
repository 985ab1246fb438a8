"""Directory of the temporary files of a test run: in memory if there is enough of it.

Every test gets a database of its own, and a disk needs up to ten times as long as memory to make one. The tests of
crashes kill processes, never the machine, so memory serves them as well as a disk.
"""

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
NEEDED_BYTES = 6 << 30


def keep_temporary_files_in_memory() -> None:
    """Point TMPDIR to memory, for this process and those it starts; a TMPDIR that is set is left as it is."""
    if "TMPDIR" not in os.environ and _is_roomy(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None


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
