"""Rights that a unit of systemd or a container leaves a service, for a command of a test.

Root starts the command as an account of its own, without new privileges and with the one capability of `as_ordinary.py`, on file systems
that are read-only but for stated directories. Without root the command runs as it is, with the umask alone.
"""

import os
import pwd
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.operation import as_ordinary

ACCOUNT = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
TEMPORARY = (Path("/tmp"), Path("/var/tmp"))
# Each directory is a mount of its own before the file systems are made read-only. The directory for temporary files is one of its own.
READ_ONLY = """
set -e
umask "$1"
temporary=$2
shift 2
mount --make-rprivate /
while [ "$1" != -- ]; do
  mount --bind "$1" "$1"
  shift
done
shift
[ -z "$temporary" ] || mount -t tmpfs -o mode=1777 tmpfs "$temporary"
for place in / /dev/shm; do
  ! mountpoint -q "$place" || mount -o remount,bind,ro "$place"
done
exec "$@"
"""


def open_to_others(directory: Path) -> None:
    """Let the account reach a directory of pytest, which is closed to others."""
    for folder in (directory, *directory.parents):
        if folder == directory or folder.name.startswith("pytest-"):
            folder.chmod(0o755)


@dataclass(frozen=True)
class Confinement:
    """Directories that a service writes, and its umask."""

    writable: tuple[Path, ...]
    umask: int

    def own(self) -> None:
        """Give the directories to the account of the service."""
        for directory in self.writable if ACCOUNT else ():
            os.chown(directory, ACCOUNT.pw_uid, ACCOUNT.pw_gid)

    def lend(self, file: Path) -> None:
        """Let the account read a file of root's, and no other account."""
        file.chmod(0o640)
        if ACCOUNT:
            os.chown(file, 0, ACCOUNT.pw_gid)

    def command(self, *command: str) -> list[str]:
        """Return a command line that keeps the process id of the command."""
        mask = f"{self.umask:03o}"
        if ACCOUNT is None:
            return ["sh", "-c", 'umask "$1"; shift; exec "$@"', "sh", mask, *command]
        places = [str(one) for one in self.writable]
        return [
            *("unshare", "--mount", "sh", "-c", READ_ONLY, "sh", mask, self._temporary(), *places, "--"),
            *(sys.executable, "-I", "-S", as_ordinary.__file__, str(ACCOUNT.pw_uid), str(ACCOUNT.pw_gid)),
            *command,
        ]

    def _temporary(self) -> str:
        """The place of a temporary directory that is private, which hides neither the program nor what the service writes; none without one."""
        needed = (*self.writable, Path(sys.prefix), Path(__file__))
        free = [place for place in TEMPORARY if not any(one.is_relative_to(place) for one in needed)]
        return str(free[0]) if free else ""

    def require(self, pid: int) -> None:
        """Require that a process has no other rights."""
        status = dict(line.split(":\t", 1) for line in _lines(pid, "status"))
        assert int(status["Umask"], 8) == self.umask
        if ACCOUNT is None:
            return
        assert status["Uid"].split() == [str(ACCOUNT.pw_uid)] * 4
        assert status["NoNewPrivs"] == "1"
        held = 1 << as_ordinary.CAP_DAC_READ_SEARCH
        assert {int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")} == {held}
        mounts = {line.split()[4]: line.split()[5].split(",") for line in _lines(pid, "mountinfo")}
        assert "ro" in mounts["/"]
        for directory in self.writable:
            assert "rw" in mounts[str(directory)], directory


def _lines(pid: int, name: str) -> Sequence[str]:
    return Path(f"/proc/{pid}/{name}").read_text().splitlines()
