"""Backups of each night: the newest are kept, foreign files stay, a stream is the backup alone, and `hansa doctor` knows the last one."""

import asyncio
import fcntl
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hansa.doors.database_backup import read_backup
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import COMMAND, Ended, RegistryProcess, environment, launch, run

SECRET = "Quiet-Harbour-41-Lantern"
PREFIX = "hansa.hansa.local-"


@pytest.fixture(scope="module")
async def stopped(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    """A registry that does not run."""
    registry = RegistryProcess(tmp_path_factory.mktemp("nightly") / "data", founded=founded_data)
    registry.copy()
    yield registry
    await end_postgres(registry.data_dir)


@pytest.fixture
async def serving(tmp_path: Path, founded_data: Path) -> AsyncIterator[RegistryProcess]:
    registry = RegistryProcess(tmp_path / "data", founded=founded_data)
    await registry.start()
    yield registry
    await registry.kill()
    await end_postgres(registry.data_dir)


async def back_up(registry: RegistryProcess, *arguments: str) -> Ended:
    return await run("db", "backup", *arguments, data_dir=registry.data_dir, HANSA_KEYS_PASSPHRASE=SECRET)


def content_of(file: Path) -> bytes:
    return file.read_bytes()


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


async def test_the_newest_backups_of_a_directory_are_kept_and_foreign_files_stay(
    stopped: RegistryProcess, tmp_path: Path
):
    folder = tmp_path / "backups"
    folder.mkdir()
    first = await back_up(stopped, f"--out-dir={folder}", "--keep=2", "--json")
    assert (first.code, first.complaint) == (0, ""), first
    whole = Path(json.loads(first.output)["file"])
    assert whole.parent == folder
    read_backup(whole)
    content = content_of(whole)
    old = [folder / f"{PREFIX}2020010{day}T000000Z.hansa" for day in (1, 2, 3)]
    for copy in old:
        copy.write_bytes(content)
    foreign = [
        folder / "registry.hansa",
        folder / "other.hansa.local-20200101T000000Z.hansa",
        folder / f"{PREFIX}20200101.hansa",
    ]
    for copy in foreign:
        copy.write_bytes(content)
    torn = folder / f"{PREFIX}20200104T000000Z.hansa"
    torn.write_bytes(content[:-1])
    link = folder / f"{PREFIX}20200105T000000Z.hansa"
    link.symlink_to(whole)
    abandoned, locked = (folder / f".{PREFIX}2020010{day}T000000Z.hansa.4711" for day in (6, 7))
    abandoned.touch()
    with locked.open("wb") as draft:
        fcntl.flock(draft, fcntl.LOCK_EX)
        second = await back_up(stopped, f"--out-dir={folder}", "--keep=3", "--json")
        assert second.code == 0, second
    newest = Path(json.loads(second.output)["file"])
    left = {newest, whole, old[2], *foreign, torn, link, locked}
    assert names_in(folder) == {path.name for path in left}
    assert json.loads(second.output)["deleted"] == [str(old[1]), str(old[0])]


async def test_a_backup_names_one_output_and_keeps_only_in_a_directory(
    stopped: RegistryProcess, tmp_path: Path
):
    for arguments in ([], ["x.hansa", f"--out-dir={tmp_path}"], ["x.hansa", "--keep=3"]):
        ended = await back_up(stopped, *arguments)
        assert (ended.code, ended.output, len(ended.complaints)) == (2, "", 1), ended
    assert names_in(tmp_path) == set()


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
async def test_a_backup_on_standard_output_is_the_backup_alone(
    stopped: RegistryProcess, tmp_path: Path, name: str
):
    process = await launch(
        *("db", "backup", name),
        environment=environment(stopped.data_dir, HANSA_KEYS_PASSPHRASE=SECRET),
        stderr=PIPE,
    )
    output, complaint = await process.communicate()
    assert await process.wait() == 0, complaint
    assert b"with keys" in complaint
    file = tmp_path / "piped.hansa"
    file.write_bytes(output)
    assert read_backup(file).manifest.has_keys


async def test_a_stream_that_is_full_ends_the_backup_in_one_line(stopped: RegistryProcess):
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", '"$0" db backup - > /dev/full', str(COMMAND)),
        env=environment(stopped.data_dir, HANSA_KEYS_PASSPHRASE=SECRET),
        stderr=PIPE,
    )
    _, complaint = await process.communicate()
    assert process.returncode == 1
    assert complaint.decode().splitlines() == ["hansa: - cannot be used: No space left on device"]


async def finding_of_the_doctor(registry: RegistryProcess) -> dict[str, str] | None:
    ended = await run("doctor", "--json", data_dir=registry.data_dir)
    found = [one for one in json.loads(ended.output)["findings"] if one["subject"] == "backup"]
    return found[0] if found else None


async def test_the_doctor_knows_the_newest_backup_and_one_that_failed(
    serving: RegistryProcess, tmp_path: Path
):
    finding = await finding_of_the_doctor(serving)
    assert finding is not None
    assert finding["severity"] == "note"
    assert "--out-dir" in finding["fix"]
    missing = await back_up(serving, f"--out-dir={tmp_path / 'nowhere'}")
    assert missing.code == 1
    assert "No such file or directory" in missing.complaint
    finding = await finding_of_the_doctor(serving)
    assert finding is not None
    assert (finding["severity"], "No such file" in finding["message"]) == ("warning", True)
    assert (await back_up(serving, str(tmp_path / "good.hansa"))).code == 0
    # A file that exists already is a mistake of the command, no failure of a backup.
    assert (await back_up(serving, str(tmp_path / "good.hansa"))).code == 1
    finding = await finding_of_the_doctor(serving)
    assert finding is not None
    assert finding["severity"] == "ok"
