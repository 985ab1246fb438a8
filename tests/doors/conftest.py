"""The first steps are told for a shell with curl; where there is none they cannot be walked."""

import shutil

import pytest

HAS_CURL = shutil.which("curl") is not None
collect_ignore_glob = [] if HAS_CURL else ["test_first_steps_walked.py"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not HAS_CURL:
        terminalreporter.write_line(
            "not collected: tests/doors/test_first_steps_walked.py (no curl on the PATH)"
        )
