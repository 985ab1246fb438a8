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

from hansa.foundation.plumbing.storage.database import LOWEST_POSTGRESQL
from tests import debian_packages

VARIABLE = f"POSTGRESQL_{LOWEST_POSTGRESQL}"
PACKAGE = f"postgresql-{LOWEST_POSTGRESQL}"
PROGRAMS = Path(f"usr/lib/postgresql/{LOWEST_POSTGRESQL}/bin")
# Root unpacks where the account that runs the server can reach the programs, which is not so below root's home.
CACHE, ROOTS_CACHE = Path(".cache/hansa-tests"), Path("var/cache/hansa-tests")
CLUSTER_SETTINGS = Path("etc/postgresql-common/createcluster.conf")
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
    home = Path(environ.get("HOME", tempfile.gettempdir()))
    unpacked = (root / ROOTS_CACHE if is_root else home / CACHE) / PACKAGE
    places = (root / PROGRAMS, unpacked / PROGRAMS)
    install = (lambda: _install(root, environ)) if is_root else None
    for attempt in (None, install, lambda: _unpack(unpacked, environ)):
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


def _install(root: Path, environ: Mapping[str, str]) -> None:
    # Debian's package would make a cluster of its own and start it.
    settings = root / CLUSTER_SETTINGS
    if not settings.exists():
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text("create_main_cluster = false\n")
    with debian_packages.alone():
        _run(["apt-get", "-q", "update"], environ)
        _run(["apt-get", "-qy", "install", "--no-install-recommends", PACKAGE], environ)


def _unpack(target: Path, environ: Mapping[str, str]) -> None:
    """Unpack the package and the libraries that it needs, which takes no rights; an earlier copy there did not start."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as directory:
            fresh = Path(directory) / "unpacked"
            fresh.mkdir()
            fresh.chmod(0o755)
            _download(_packages(environ), directory, environ)
            for package in sorted(Path(directory).glob("*.deb")):
                _run(["dpkg", "-x", str(package), str(fresh)], environ)
            if (fresh / PROGRAMS).is_dir():
                shutil.rmtree(target, ignore_errors=True)
                fresh.rename(target)
    except OSError as error:
        raise NoServer(
            f"Debian's package {PACKAGE} cannot be unpacked in {target}: {error.strerror or error}"
        ) from None


def _packages(environ: Mapping[str, str]) -> list[str]:
    """The package and the libraries that it needs, the C library of the system apart."""
    depends = ["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts"]
    options = ["--no-breaks", "--no-replaces", "--no-enhances", PACKAGE]
    listed = _run([*depends, *options], environ).splitlines()
    return sorted(
        {line for line in listed if line.startswith(("lib", PACKAGE)) and not line.startswith("libc6")}
    )


def _download(packages: list[str], directory: str, environ: Mapping[str, str]) -> None:
    if packages:
        _run(["apt-get", "-q", "download", *packages], environ, directory)


def _run(command: list[str], environ: Mapping[str, str], directory: str | None = None) -> str:
    """The standard output of the command, also when it fails."""
    ended = subprocess.run(
        command,
        check=False,
        cwd=directory,
        env={**environ, "DEBIAN_FRONTEND": "noninteractive"},
        timeout=INSTALL_SECONDS,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    return ended.stdout


if __name__ == "__main__":
    try:
        print(get())
    except NoServer as trouble:
        sys.exit(str(trouble))
