"""A first start on a fresh machine, by somebody without special rights."""

import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.operation.conftest import end_postgres
from tests.operation.registry_process import RegistryProcess, children_of, health, postgres_pid

ORDINARY = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
STRICT = 0o077
UNDER_A_STRICT_UMASK_WITHOUT_HOME = (
    "/usr/bin/env",
    "-u",
    "HOME",
    "sh",
    "-c",
    f'umask {STRICT:o}; exec "$@"',
    "sh",
)


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty directory of the ordinary user, where every user can reach it."""
    directory = Path(tempfile.mkdtemp(prefix="hansa-home-"))
    if ORDINARY:
        os.chown(directory, ORDINARY.pw_uid, ORDINARY.pw_gid)
    yield directory
    shutil.rmtree(directory)


async def test_an_ordinary_user_starts_and_stops_a_registry_under_a_strict_umask_whatever_the_variable_home(
    home: Path,
):
    closed = home / "closed"
    closed.mkdir(mode=0o555)
    data_dir = home / ".local/share/hansa"
    strict = RegistryProcess(data_dir, as_account=[*UNDER_A_STRICT_UMASK_WITHOUT_HOME, *_as_ordinary()])
    await starts_and_stops(strict, home)
    assert modes_for_others_in(data_dir) == {0}
    await starts_and_stops(RegistryProcess(data_dir, as_account=_as_ordinary(), HOME=str(closed)), home)


async def starts_and_stops(registry: RegistryProcess, home: Path) -> None:
    """Require that all processes and files of a start are the ordinary user's."""
    registry.log = home / "service.log"
    try:
        await registry.start()
        assert await health(registry.url) == 200
        server = postgres_pid(registry.data_dir)
        assert server in children_of(registry.pid)
        assert owner_of(Path(f"/proc/{server}")) == owner_of(home) != 0
        assert modes_in(registry.data_dir / "keys") == (0o700, {0o600})
        ended = await registry.stop()
        assert ended.code == 0, ended
        assert postgres_pid(registry.data_dir) is None
    finally:
        await registry.kill()
        await end_postgres(registry.data_dir)


def modes_for_others_in(folder: Path) -> set[int]:
    """Return the permissions that files below a folder grant to others than its owner."""
    return {path.lstat().st_mode & STRICT for path in folder.rglob("*") if not path.is_symlink()}


def owner_of(path: Path) -> int:
    return path.stat().st_uid


def modes_in(folder: Path) -> tuple[int, set[int]]:
    """Return the permissions of a folder, and of the files in it."""
    return folder.stat().st_mode & 0o777, {entry.stat().st_mode & 0o777 for entry in folder.iterdir()}


def _as_ordinary() -> list[str]:
    """Become the ordinary user first."""
    if ORDINARY is None:
        return []
    launcher = [sys.executable, "-I", "-S", str(Path(__file__).with_name("as_ordinary.py"))]
    return [*launcher, str(ORDINARY.pw_uid), str(ORDINARY.pw_gid)]
