"""The first steps and the guide are told for a shell with curl; where there is none they cannot be walked."""

import shutil

import pytest

HAS_CURL = shutil.which("curl") is not None
NEED_CURL = ["test_first_agent_guide.py", "test_first_steps_walked.py"]
collect_ignore_glob = [] if HAS_CURL else NEED_CURL


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not HAS_CURL:
        terminalreporter.write_line(
            f"not collected: {', '.join(NEED_CURL)} of tests/doors (no curl on the PATH)"
        )
