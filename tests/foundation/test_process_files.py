"""The record of a serving process: found while the process lives, and no other process is taken for it."""

import asyncio
import fcntl
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hansa.foundation.plumbing.process.process_files import (
    FOLDER,
    ServingProcess,
    describe_this_process,
    recorded,
    serving_processes,
    terminate,
)


def this_process() -> ServingProcess:
    return describe_this_process(url="http://127.0.0.1:8000", version="1", workers=1, database="embedded")


@pytest.fixture
async def stranger() -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that is no registry."""
    process = await asyncio.create_subprocess_exec("sleep", "600")
    yield process
    if process.returncode is None:
        process.kill()
    await process.wait()


def record_of(data_dir: Path, pid: int, boot_ticks: int) -> Path:
    path = data_dir / FOLDER / f"{pid}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**vars_of(this_process()), "pid": pid, "boot_ticks": boot_ticks}))
    return path


def vars_of(presence: ServingProcess) -> dict[str, object]:
    return {name: getattr(presence, name) for name in presence.__struct_fields__}


def test_a_process_is_found_while_it_serves_and_not_afterwards(tmp_path: Path):
    script = (
        "import sys; from pathlib import Path; from hansa.foundation.plumbing.process.process_files import *;"
        "print(len(serving_processes(Path(sys.argv[1]))))"
    )
    assert serving_processes(tmp_path) == []
    with recorded(tmp_path, this_process()):
        assert serving_processes(tmp_path) == [this_process_recorded(tmp_path)]
        assert run_python(script, str(tmp_path)) == "1"
    assert run_python(script, str(tmp_path)) == "0"


def this_process_recorded(data_dir: Path) -> ServingProcess:
    return ServingProcess(**json.loads((data_dir / FOLDER / f"{os.getpid()}.json").read_text()))


def run_python(script: str, *arguments: str) -> str:
    reading, writing = os.pipe()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", script, *arguments],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)],
    )
    os.close(writing)
    os.waitpid(pid, 0)
    with os.fdopen(reading) as output:
        return output.read().strip()


async def test_a_record_without_a_lock_is_of_a_process_that_is_gone(
    tmp_path: Path, stranger: asyncio.subprocess.Process
):
    record_of(tmp_path, stranger.pid, 0)
    assert serving_processes(tmp_path) == []


async def test_a_process_that_got_the_number_of_a_registry_is_left_alone(
    tmp_path: Path, stranger: asyncio.subprocess.Process
):
    path = record_of(tmp_path, stranger.pid, 1)
    descriptor = os.open(path, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    recycled = ServingProcess(**json.loads(path.read_text()))
    assert serving_processes(tmp_path) == []
    assert terminate(tmp_path, recycled, seconds=1)
    assert stranger.returncode is None
    os.kill(stranger.pid, 0)
    os.close(descriptor)


def test_the_next_start_clears_the_records_of_dead_processes(tmp_path: Path):
    stale = record_of(tmp_path, 1, 0)
    with recorded(tmp_path, this_process()):
        assert not stale.exists()


def test_a_directory_that_takes_no_record_is_no_reason_not_to_serve(tmp_path: Path):
    (tmp_path / FOLDER).write_text("a file")
    with recorded(tmp_path, this_process()):
        assert serving_processes(tmp_path) == []
