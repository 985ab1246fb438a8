"""Debian's packages that tests need: installed where they are absent, or unpacked in a folder, for which no rights are needed.

apt takes one process at a time and does not wait for it.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

INSTALL_SECONDS = 300
# Root unpacks where the accounts of servers can reach the programs, which is not so below root's home.
UNPACKED = Path("/var/cache/hansa-tests") if os.geteuid() == 0 else Path.home() / ".cache/hansa-tests"
LOCK = UNPACKED / "lock"
SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"


def install(package: str) -> None:
    """Raises: CalledProcessError, OSError where there is no apt."""
    with alone():
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", package]):
            _run("apt-get", "-q", *arguments)


@dataclass(frozen=True)
class Unpacked:
    """Packages with those that they need, without being installed: nothing of them was run or started."""

    root: Path

    def program(self, name: str) -> str:
        """The path of a program; that of this machine where it had the package."""
        found = shutil.which(name, path=self.environment["PATH"])
        assert found, f"{name} is in none of the packages"
        return found

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which the programs find each other, their libraries and their modules."""
        libraries = [self.root / "usr/lib" / f"{os.uname().machine}-linux-gnu", self.root / "usr/lib"]
        programs = [str(self.root / place) for place in ("usr/sbin", "usr/bin", "sbin", "bin")]
        return {
            "PATH": ":".join([*programs, SYSTEM]),
            "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
            "PYTHONPATH": str(self.root / "usr/lib/python3/dist-packages"),
            "LC_ALL": "C.UTF-8",
        }


def unpack(*packages: str) -> Unpacked:
    """Fetch packages and those that they need and this machine has not, once.

    Raises: CalledProcessError, OSError where there is no apt or no such package.
    """
    root = UNPACKED / sha256(" ".join(packages).encode()).hexdigest()[:16]
    with alone():
        if not root.exists():
            with tempfile.TemporaryDirectory(dir=UNPACKED) as scratch:
                _unpack(packages, Path(scratch))
                (Path(scratch) / "root").rename(root)
    return Unpacked(root)


def _unpack(packages: tuple[str, ...], scratch: Path) -> None:
    # Lists and archives in folders of this account.
    for folder in (UNPACKED / "lists/partial", scratch / "archives/partial", scratch / "root"):
        folder.mkdir(parents=True, exist_ok=True)
    own = [
        f"-oDir::State::lists={UNPACKED}/lists",
        f"-oDir::Cache::archives={scratch}/archives",
        f"-oDir::Cache::pkgcache={scratch}/pkgcache.bin",
        f"-oDir::Cache::srcpkgcache={scratch}/srcpkgcache.bin",
        "-oDebug::NoLocking=1",
        "-oAPT::Sandbox::User=",
    ]
    _run("apt-get", "-q", *own, "update")
    wanted = ["install", "-y", "--no-install-recommends", "--download-only", *packages]
    _run("apt-get", "-q", *own, *wanted)
    for archive in (scratch / "archives").glob("*.deb"):
        _run("dpkg-deb", "--extract", str(archive), str(scratch / "root"))


def _run(*command: str) -> None:
    subprocess.run(
        command,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        timeout=INSTALL_SECONDS,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


@contextmanager
def alone() -> Iterator[None]:
    """While this is open no other process of the tests installs a package."""
    UNPACKED.mkdir(parents=True, exist_ok=True)
    # Accounts of servers read it, under any umask.
    UNPACKED.chmod(0o755)
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
