"""The programs of the lowest supported PostgreSQL: installed ones, else Debian's package, installed or unpacked.

`python -m tests.operation.lowest_postgresql` finds them and says where.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hansa.foundation.plumbing.database import LOWEST_POSTGRESQL

VARIABLE = f"POSTGRESQL_{LOWEST_POSTGRESQL}"
PACKAGE = f"postgresql-{LOWEST_POSTGRESQL}"
PROGRAMS = Path(f"usr/lib/postgresql/{LOWEST_POSTGRESQL}/bin")
CACHE = Path(".cache/hansa-tests")
INSTALL_SECONDS = 900


class NoServer(Exception):
    """There are no such programs, and none could be had; the message is for a person."""


def get(
    environ: Mapping[str, str] = os.environ, root: Path = Path("/"), *, is_root: bool = os.geteuid() == 0
) -> Path:
    """The folder with `initdb` and `postgres`. Raises: NoServer."""
    if given := environ.get(VARIABLE):
        if not _is_right(Path(given)):
            raise NoServer(f"{VARIABLE}={given} holds no PostgreSQL {LOWEST_POSTGRESQL} that starts.")
        return Path(given)
    unpacked = Path(environ.get("HOME", tempfile.gettempdir())) / CACHE / PACKAGE
    places = (root / PROGRAMS, unpacked / PROGRAMS)
    for attempt in (None, _install if is_root else None, lambda: _unpack(unpacked)):
        if attempt is not None and shutil.which("apt-get", path=environ.get("PATH", "")):
            attempt()
        if found := next((place for place in places if _is_right(place)), None):
            return found
    raise NoServer(
        f"no PostgreSQL {LOWEST_POSTGRESQL} in {places[0]}, and Debian's package {PACKAGE} could be neither installed nor "
        f"unpacked: install it, or set {VARIABLE} to the folder of its programs."
    )


def environment(programs: Path) -> dict[str, str]:
    """The variables with which the programs find their libraries, also those of an unpacked package."""
    unpacked = str(programs).removesuffix(str(PROGRAMS))
    libraries = (
        [str(path) for path in sorted(Path(unpacked).glob("usr/lib/*-linux-*"))] if unpacked != "/" else []
    )
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": ":".join(libraries)}


def _is_right(programs: Path) -> bool:
    try:
        said = subprocess.run(
            [programs / "postgres", "--version"],
            capture_output=True,
            text=True,
            check=False,
            env=environment(programs),
        ).stdout
    except OSError:
        return False
    return f" {LOWEST_POSTGRESQL}." in said and (programs / "initdb").exists()


def _install() -> None:
    # Debian's package would make a cluster of its own and start it.
    settings = Path("/etc/postgresql-common/createcluster.conf")
    if not settings.exists():
        settings.parent.mkdir(exist_ok=True)
        settings.write_text("create_main_cluster = false\n")
    _run(["apt-get", "-q", "update"])
    _run(["apt-get", "-qy", "install", "--no-install-recommends", PACKAGE])


def _unpack(target: Path) -> None:
    """Unpack the package and the libraries that it needs, which takes no rights."""
    target.parent.mkdir(parents=True, exist_ok=True)
    depends = ["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts"]
    options = ["--no-breaks", "--no-replaces", "--no-enhances", PACKAGE]
    listed = subprocess.run([*depends, *options], capture_output=True, text=True, check=False).stdout
    wanted = sorted({line for line in listed.splitlines() if line.startswith(("lib", PACKAGE))})
    with tempfile.TemporaryDirectory(dir=target.parent) as directory:
        _run(
            ["apt-get", "-q", "download", *(name for name in wanted if not name.startswith("libc6"))],
            directory,
        )
        fresh = Path(directory) / "unpacked"
        fresh.mkdir()
        for package in Path(directory).glob("*.deb"):
            _run(["dpkg", "-x", str(package), str(fresh)])
        if (fresh / PROGRAMS).is_dir() and not target.exists():
            fresh.rename(target)


def _run(command: list[str], directory: str | None = None) -> None:
    surroundings = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(
        command,
        check=False,
        cwd=directory,
        env=surroundings,
        timeout=INSTALL_SECONDS,
        stdin=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    try:
        print(get())
    except NoServer as trouble:
        sys.exit(str(trouble))
