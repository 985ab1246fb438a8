"""The embedded server where directories above its programs and its folders are closed to its account."""

import asyncio
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
from running_server import server_pid

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgresFailed, binaries, running_dsn, staging
from hansa.foundation.plumbing.storage.embedded.account import ServerAccount, server_account
from hansa.foundation.plumbing.storage.embedded.layout import Layout
from tests.mounted import mounted
from tests.properties.scale import by_tier

AS_ROOT = os.geteuid() == 0
UMASKS = by_tier([0o077], [0o077, 0o022], [0o077, 0o022])
# What only a running server reads: nine in ten of the files that a copy consists of.
OF_A_RUNNING_SERVER = ("timezone", "extension", "tsearch_data", "timezonesets")
OTHER_ACCOUNT = ServerAccount(65534, 65534)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every account can reach."""
    with tempfile.TemporaryDirectory(prefix="hansa-place-", dir="/var/tmp") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.fixture
def closed_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The installed programs, below a closed directory, as under a strict umask."""
    return put_below_a_closed_directory(tmp_path, monkeypatch)


@pytest.fixture
def few_closed_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the programs without the files that only a running server reads: for tests that start none."""
    return put_below_a_closed_directory(tmp_path, monkeypatch, *OF_A_RUNNING_SERVER)


def put_below_a_closed_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *left_out: str) -> Path:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    copied = copy_programs(closed, link_or_copy, *left_out)
    monkeypatch.setattr(binaries, "installed", lambda: copied)
    return copied


def copy_programs(site: Path, copy: Callable[[str, str], object], *left_out: str) -> Path:
    installed = binaries.installed()
    for folder in (*(installed / name for name in ("bin", "lib", "share")), *binaries.libraries(installed)):
        target = site / folder.relative_to(installed.parents[1])
        shutil.copytree(folder, target, copy_function=copy, ignore=shutil.ignore_patterns("pgxs", *left_out))
    return site / installed.relative_to(installed.parents[1])


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def program_of(pid: int) -> Path:
    return Path(f"/proc/{pid}/exe").readlink()


async def works(dsn: str) -> bool:
    connection = await asyncpg.connect(dsn)
    try:
        # An extension comes from the folder of the programs, a time zone from what is shared.
        await connection.execute("CREATE EXTENSION pg_trgm")
        return await connection.fetchval("SELECT now() AT TIME ZONE 'Asia/Tokyo' IS NOT NULL")
    finally:
        await connection.close()


async def test_a_server_starts_from_programs_below_a_closed_directory(
    embedded, tmp_path, closed_programs, place, monkeypatch
):
    use_only(place, monkeypatch)
    assert await works(await embedded(is_first=True).start())
    assert stat.S_IMODE(closed_programs.parents[1].stat().st_mode) == 0o700
    assert program_of(server_pid(tmp_path / "data")).is_relative_to(place if AS_ROOT else closed_programs)


async def test_a_server_starts_in_a_data_directory_that_is_itself_closed(embedded, tmp_path):
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    dsn = await embedded(data_dir, is_first=True).start()
    assert await works(dsn)
    assert running_dsn(data_dir) == dsn
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700


async def test_a_server_starts_with_a_long_path_and_a_closed_directory_for_temporary_files(
    embedded, tmp_path, monkeypatch
):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(closed))
    data_dir = tmp_path / ("d" * 100)
    dsn = await embedded(data_dir, is_first=True).start()
    assert Layout.of(data_dir).socket_directory.parent == closed
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    assert running_dsn(data_dir) == dsn, "others need not share the directory for temporary files"
    assert await works(dsn)
    monkeypatch.setattr(tempfile, "tempdir", str(closed))


async def test_a_server_starts_where_the_directory_for_temporary_files_has_a_long_path_too(
    embedded, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("t" * 80)))
    assert await works(await embedded(tmp_path / ("d" * 100), is_first=True).start())


# The usual one is also that of the first test above.
@pytest.mark.parametrize("mask", UMASKS)
async def test_a_server_starts_whatever_the_umask(embedded, closed_programs, place, monkeypatch, mask):
    use_only(place, monkeypatch)
    before = os.umask(mask)
    try:
        assert await works(await embedded(is_first=True).start())
    finally:
        os.umask(before)


def use_only(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "PLACES", (str(place),))
    monkeypatch.setattr(tempfile, "tempdir", str(place))


def staged(place: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_only(place, monkeypatch)
    return staging.programs_for(server_account(data_dir / "postgres"), data_dir).parent


def test_programs_that_the_account_reaches_are_not_copied(place, tmp_path, monkeypatch):
    if not AS_ROOT:
        assert staged(place, tmp_path, monkeypatch) == binaries.installed()
        return
    reachable = copy_programs(place, shutil.copy2, *OF_A_RUNNING_SERVER)
    # The environment itself may have been installed under a strict umask.
    for path in (place, *place.rglob("*")):
        path.chmod(0o755)
    monkeypatch.setattr(binaries, "installed", lambda: reachable)
    assert staged(place, tmp_path, monkeypatch) == reachable


def test_a_copy_is_made_once_and_nobody_else_may_write_to_it(
    few_closed_programs, place, tmp_path, monkeypatch
):
    copy = staged(place, tmp_path, monkeypatch)
    if not AS_ROOT:
        assert copy == few_closed_programs
        return
    made = (copy / "bin" / "postgres").stat()
    assert staged(place, tmp_path, monkeypatch) == copy
    assert (copy / "bin" / "postgres").stat().st_ino == made.st_ino
    top = place / staging.FOLDER_NAME
    for path in (top, *top.rglob("*")):
        assert path.lstat().st_uid == 0
        assert not path.lstat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def test_a_copy_that_lost_a_file_is_made_anew(few_closed_programs, place, tmp_path, monkeypatch):
    copy = staged(place, tmp_path, monkeypatch)
    if AS_ROOT:
        (copy / "share" / "postgresql.conf.sample").unlink()
        assert staged(place, tmp_path, monkeypatch) == copy
    assert (copy / "share" / "postgresql.conf.sample").exists()
    assert len(list(place.glob(f"{staging.FOLDER_NAME}/*"))) == (1 if AS_ROOT else 0), "nothing is left over"


async def test_services_that_start_together_share_one_copy(few_closed_programs, place, tmp_path, monkeypatch):
    copies = await asyncio.gather(
        *(asyncio.to_thread(staged, place, tmp_path, monkeypatch) for _ in range(2))
    )
    assert len(set(copies)) == 1
    assert (copies[0] / "bin" / "initdb").exists()


def test_a_folder_that_another_account_made_is_not_used(few_closed_programs, place, tmp_path, monkeypatch):
    foreign = place / staging.FOLDER_NAME
    foreign.mkdir()
    if not AS_ROOT:
        assert staged(place, tmp_path, monkeypatch) == few_closed_programs
        return
    os.chown(foreign, OTHER_ACCOUNT.uid, OTHER_ACCOUNT.gid)
    tmp_path.chmod(0o700)
    with pytest.raises(EmbeddedPostgresFailed, match="belongs to another account") as refused:
        staged(place, tmp_path, monkeypatch)
    assert len(str(refused.value).splitlines()) == 1
    assert list(foreign.iterdir()) == []


def test_a_file_system_that_executes_nothing_is_passed_over(
    few_closed_programs, place, tmp_path, monkeypatch
):
    (place / "open").mkdir()
    (place / "open").chmod(0o755)
    with mounted(place / "noexec", "mode=755,noexec") as is_noexec:
        use_only(place / "noexec", monkeypatch)
        monkeypatch.setattr(staging, "PLACES", (str(place / "noexec"), str(place / "open")))
        programs = staging.programs_for(server_account(tmp_path / "postgres"), tmp_path)
        wanted = place / ("open" if is_noexec else "noexec") if AS_ROOT else few_closed_programs
        assert programs.is_relative_to(wanted)
        started = server_account(tmp_path / "postgres").command(programs / "postgres", "--version")
        assert subprocess.run(started, check=False, stdout=subprocess.DEVNULL).returncode == 0
