"""The tests of a run are shared between forks of one process (tests/workers.py)."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]


SESSION = """
    import os, pytest

    def record(line):
        with open(os.environ["RECORD"], "a") as file:
            file.write(f"{os.getpid()} {line}\\n")

    @pytest.fixture(scope="session", autouse=True)
    def session_fixture(tmp_path_factory):
        tmp_path_factory.mktemp("own", numbered=False)
        record("set up")
        yield
        record("torn down")

    @pytest.fixture(autouse=True)
    def recorded(request):
        record(request.node.name)
"""
TWO_TESTS = """
    def test_first(): pass

    def test_second(): pass
"""


async def start(directory: Path, *options: str, **files: str) -> Process:
    """Start `pytest --workers 2` on files of these names; events are recorded, with the process, in the file `record`."""
    (directory / "pytest.ini").write_text("[pytest]\n")
    (directory / "conftest.py").write_text(dedent(SESSION))
    for name, text in files.items():
        (directory / f"test_{name}.py").write_text(dedent(text))
    unneeded = ("anyio", "asyncio", "timeout", "hypothesispytest", "schemathesis", "cacheprovider")
    command = ("-m", "pytest", "-ptests.workers", *(f"-pno:{name}" for name in unneeded), "--workers=2")
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        *options,
        str(directory),
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT), "RECORD": str(directory / "record")},
        stdout=PIPE,
        stderr=STDOUT,
        start_new_session=True,
    )


async def run(directory: Path, *options: str, **files: str) -> tuple[int | None, str]:
    """Exit code and output of such a run."""
    process = await start(directory, *options, **files)
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, output.decode()


async def test_a_file_stays_with_one_worker_and_each_worker_has_session_fixtures_of_its_own(
    tmp_path: Path,
) -> None:
    code, output = await run(tmp_path, **dict.fromkeys(("a", "b", "c"), TWO_TESTS))
    assert code == 0, output
    assert "6 passed" in output
    by_worker: dict[str, list[str]] = {}
    for line in (tmp_path / "record").read_text().splitlines():
        worker, text = line.split(maxsplit=1)
        by_worker.setdefault(worker, []).append(text)
    for recorded in by_worker.values():
        of_tests = recorded[1:-1]
        assert recorded == ["set up", *of_tests, "torn down"]
        assert of_tests == ["test_first", "test_second"] * (len(of_tests) // 2)
    assert sum(map(len, by_worker.values())) == 2 * 3 + 2 * len(by_worker)


async def test_the_test_that_ended_its_worker_has_failed_and_the_rest_of_its_file_runs(
    tmp_path: Path,
) -> None:
    ends = """
        import os

        def test_before():
            print("shown")

        def test_that_ends_its_worker():
            os._exit(7)

        def test_after():
            assert False, "after all"
    """
    code, output = await run(tmp_path, ends=ends, other=TWO_TESTS)
    assert code == 1, output
    assert re.search(r"worker \d ended with exit code 7 while it ran this test", output)
    assert "after all" in output
    assert "2 failed, 3 passed" in output


async def test_after_the_first_failure_no_other_test_is_begun(tmp_path: Path) -> None:
    fails = """
        def test_that_fails():
            assert 1 == 2

        def test_never_begun():
            assert False
    """
    code, output = await run(tmp_path, "-x", fails=fails)
    assert code == 1, output
    assert "assert 1 == 2" in output
    assert "1 failed in" in output


@pytest.mark.parametrize("interrupt", [os.kill, os.killpg], ids=["one process", "Ctrl-C in a terminal"])
async def test_an_interrupted_run_ends_its_session_fixtures(
    tmp_path: Path, interrupt: Callable[[int, int], None]
) -> None:
    waits = """
        import time

        def test_that_waits():
            time.sleep(600)
    """
    process = await start(tmp_path, waits=waits)
    record = tmp_path / "record"
    async with asyncio.timeout(60):
        while not record.exists() or "test_that_waits" not in record.read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    interrupt(process.pid, signal.SIGINT)
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 2, output.decode()
    assert "Traceback" not in output.decode()
    assert record.read_text().count("torn down") == record.read_text().count("set up")
