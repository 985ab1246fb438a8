"""Directories of test runs in memory: those of ended runs are deleted with their processes, others stay."""

import subprocess
import sys
from pathlib import Path

from tests.memory_directory import LOCK, PREFIX, delete_ended

RUN = """
import os, sys
from pathlib import Path
from tests.memory_directory import directory_of_run
directory = directory_of_run(Path(sys.argv[1]))
child = os.fork()
if not child:
    sys.exit()
os.waitpid(child, 0)
print(directory, flush=True)
sys.stdin.read()
"""
ROOT = Path(__file__).parents[2]


def run_in(memory: Path) -> tuple[subprocess.Popen[str], Path]:
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(memory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert run.stdout is not None
    return run, Path(run.stdout.readline().strip())


def test_a_killed_run_leaves_a_directory_that_the_next_one_deletes_with_its_processes(tmp_path):
    run, directory = run_in(tmp_path)
    server = subprocess.Popen(["sleep", "600"], cwd=directory)
    delete_ended(tmp_path)
    assert (directory / LOCK).exists()
    assert server.poll() is None
    run.kill()
    run.communicate()
    assert directory.exists()
    delete_ended(tmp_path)
    assert not directory.exists()
    assert server.wait(60) == -9


def test_a_run_deletes_its_directory_when_it_ends_and_its_forks_do_not(tmp_path):
    run, directory = run_in(tmp_path)
    assert directory.exists()
    run.communicate("")
    assert run.returncode == 0
    assert not directory.exists()


def test_directories_that_no_run_has_locked_stay(tmp_path):
    for name in ("foreign", f"{PREFIX}unlocked"):
        (tmp_path / name).mkdir()
    delete_ended(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"foreign", f"{PREFIX}unlocked"}
