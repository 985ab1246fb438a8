"""End of a command's process, which frees nothing that was loaded."""

import subprocess
import sys

import pytest

BEGIN = "import atexit, sys, threading, time\nfrom hansa_client.commands.ending import end_process\n"


def ended(script: str, output: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-E", "-c", BEGIN + script],
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("code", "status"), [("None", 0), ("0", 0), ("3", 3), ("-1", 255)])
def test_the_process_ends_with_the_exit_code_and_frees_nothing(code: str, status: int):
    script = (
        "class Kept:\n    def __del__(self): print('freed')\n"
        f"kept = Kept()\nprint('written')\nend_process({code})\nprint('not reached')"
    )
    process = ended(script)
    assert (process.returncode, process.stdout, process.stderr) == (status, "written\n", "")


def test_exit_handlers_run_and_what_they_write_is_written():
    process = ended("atexit.register(print, 'handled')\nprint('written')\nend_process(0)")
    assert (process.returncode, process.stdout) == (0, "written\nhandled\n")


def test_threads_are_waited_for_before_exit_handlers_run():
    script = (
        "def work():\n    time.sleep(0.1)\n    print('worked')\n"
        "atexit.register(print, 'handled')\nthreading.Thread(target=work).start()\nend_process(0)"
    )
    process = ended(script)
    assert (process.returncode, process.stdout) == (0, "worked\nhandled\n")


def test_a_sentence_is_left_to_the_interpreter():
    process = ended("end_process('one sentence')\nsys.exit('one sentence')")
    assert (process.returncode, process.stderr) == (1, "one sentence\n")


def test_output_that_cannot_be_written_is_reported():
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        process = ended("print('written')\nend_process(0)", output=full.fileno())
    assert process.returncode == 120
    assert "No space left on device" in process.stderr
