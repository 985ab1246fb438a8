"""An ordinary user's own checkout, made under a strict umask: its `make setup`, and its `make run` with unusual homes."""

import ast
import asyncio
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from hansa.foundation.plumbing.storage.embedded.account import LAUNCHER
from tests.mounted import mounted
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import (
    READY_LINE,
    START_SECONDS,
    STOP_SECONDS,
    children_of,
    health,
    postgres_pid,
)

ROOT = Path(__file__).parents[2]
CLONED = (
    "Makefile",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "pyproject.toml",
    "requirements",
    "client",
    "verify",
    "src",
    "migrations",
    "docs",
)
STRICT = 0o077
SET_UP_SECONDS = 600
IS_SUITABLE = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"
MAKE = shutil.which("make") or "make"
ORDINARY = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
DATA_DIR = Path(".local/share/hansa")


@dataclass(frozen=True)
class Checkout:
    """A checkout that belongs to the ordinary user, and how to start something as that user."""

    folder: Path
    as_user: list[str]
    python: str

    def command(self, target: str) -> list[str]:
        return [*self.as_user, MAKE, "--no-print-directory", target, f"PYTHON={self.python}"]


@pytest.fixture(scope="module")
def checkout(place: Path) -> Checkout:
    """The checkout after `make setup`, with a home directory that takes no files."""
    as_user, python = ordinary_user()
    made = Checkout(place / "checkout", as_user, python)
    clone(made.folder)
    complaint = set_up(made, place)
    if "cannot be downloaded" in complaint:
        # Without an index the packages are those of the environment in use.
        made = Checkout(made.folder, launched(with_reading=True), base_interpreter())
        shutil.copytree(sys.prefix, made.folder / ".venv", symlinks=True)
        (made.folder / ".venv").chmod(0o777 & ~STRICT)
        (made.folder / ".venv" / ".service").unlink(missing_ok=True)
        give_away(made.folder)
        complaint = set_up(made, place)
    assert complaint == ""
    return made


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A directory that every account can reach, on a disk where there is one."""
    with tempfile.TemporaryDirectory(prefix="hansa-", dir="/var/tmp") as directory:
        Path(directory).chmod(0o755)
        (Path(directory) / "closed").mkdir(mode=0o555)
        yield Path(directory)


@pytest.fixture
def home(place: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="home-", dir=place) as directory:
        give_away(Path(directory))
        yield Path(directory)


def ordinary_user() -> tuple[list[str], str]:
    """How to become the ordinary user, and an interpreter which that user can start."""
    for python in (base_interpreter(), "/usr/bin/python3", "/usr/local/bin/python3"):
        command = [*launched(), python, "-c", IS_SUITABLE]
        with suppress(OSError):
            if subprocess.run(command, cwd="/", capture_output=True, check=False).returncode == 0:
                return launched(), python
    return launched(with_reading=True), base_interpreter()


def launched(*, with_reading: bool = False) -> list[str]:
    if ORDINARY is None:
        return []
    launcher = Path(__file__).with_name("as_ordinary.py") if with_reading else LAUNCHER
    return [sys.executable, "-I", "-S", str(launcher), str(ORDINARY.pw_uid), str(ORDINARY.pw_gid)]


def base_interpreter() -> str:
    return os.path.realpath(sys.executable)


def clone(folder: Path) -> None:
    """Make the part of a clone of that user's, as git makes it, that a registry needs."""
    folder.mkdir()
    for name in CLONED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~STRICT)
    give_away(folder)


def give_away(folder: Path) -> None:
    if ORDINARY is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, ORDINARY.pw_uid, ORDINARY.pw_gid, follow_symlinks=False)


def set_up(checkout: Checkout, place: Path) -> str:
    """Run `make setup`, and return its complaints."""
    # Modules are compiled when a registry first imports them: a few of those that are installed.
    without_compiling = {"PIP_NO_COMPILE": "1"}
    surroundings = {
        "PATH": os.defpath,
        "HOME": str(place / "closed"),
        "PIP_RETRIES": "1",
        **without_compiling,
    }
    ended = subprocess.run(
        checkout.command("setup"),
        cwd=checkout.folder,
        env=surroundings | pip_settings(),
        umask=STRICT,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=SET_UP_SECONDS,
        check=False,
    )
    return ended.stderr


def pip_settings() -> dict[str, str]:
    """The package index of whoever runs the tests, in variables: another account cannot read that one's files."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    found = (
        line.removeprefix("global.").split("=", 1)
        for line in listed.splitlines()
        if line.startswith("global.")
    )
    in_files = {
        f"PIP_{name.upper().replace('-', '_')}": str(ast.literal_eval(value)) for name, value in found
    }
    return {**in_files, **{name: value for name, value in os.environ.items() if name.startswith("PIP_")}}


@asynccontextmanager
async def run(checkout: Checkout, data_dir: Path, **variables: str) -> AsyncIterator[tuple[Process, str]]:
    """Run a registry by `make run` with these variables alone; yield it with its standard output."""
    process = await asyncio.create_subprocess_exec(
        *checkout.command("run"),
        cwd=checkout.folder,
        env={"PATH": os.defpath, "PORT": "0", **variables},
        umask=STRICT,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            yield process, (await process.stdout.readline()).decode()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()
        await end_postgres(data_dir)


async def runs(checkout: Checkout, data_dir: Path, **variables: str) -> None:
    """A registry starts, serves, and ends when it gets SIGTERM."""
    async with run(checkout, data_dir, **variables) as (process, line):
        ready = READY_LINE.fullmatch(line)
        assert ready, (line, await process.communicate())
        assert await health(ready[1]) == 200
        assert postgres_pid(data_dir) in children_of(process.pid)
        process.terminate()
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
        assert postgres_pid(data_dir) is None
    assert owners_in(data_dir) == {ORDINARY.pw_uid if ORDINARY else os.geteuid()}
    assert modes_for_others_in(data_dir) == {0}


def owners_in(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in (folder, *folder.rglob("*"))}


def modes_for_others_in(folder: Path) -> set[int]:
    return {path.stat().st_mode & STRICT for path in (folder, *folder.rglob("*"))}


def test_what_a_strict_umask_makes_is_the_users_alone(checkout: Checkout):
    assert owners_in(checkout.folder) == {ORDINARY.pw_uid if ORDINARY else os.geteuid()}
    assert (checkout.folder / ".venv").stat().st_mode & STRICT == 0


async def test_a_registry_runs_without_the_variable_home_and_with_a_home_that_takes_no_files(
    checkout: Checkout, place: Path, home: Path
):
    for variables in ({}, {"HOME": str(place / "closed")}):
        await runs(checkout, home / "data", HANSA_DATA_DIR=str(home / "data"), **variables)


async def test_a_registry_runs_in_a_home_on_another_file_system_than_the_checkout(
    checkout: Checkout, home: Path
):
    # Where mounting is refused, it is an ordinary home.
    with mounted(home / "mounted", "mode=700") as is_another:
        give_away(home / "mounted")
        assert is_another == ((home / "mounted").stat().st_dev != checkout.folder.stat().st_dev)
        await runs(checkout, home / "mounted" / DATA_DIR, HOME=str(home / "mounted"))


async def test_a_home_that_takes_no_data_directory_ends_the_start_in_one_line(
    checkout: Checkout, place: Path
):
    data_dir = place / "closed" / DATA_DIR
    async with run(checkout, data_dir, HOME=str(place / "closed")) as (process, line):
        _, complaint = await process.communicate()
        [said] = [one for one in complaint.decode().splitlines() if not one.startswith("make: ")]
        assert (line, said) == (
            "",
            f"hansa: HANSA_DATA_DIR={str(data_dir)!r} cannot be used: permission denied",
        )
