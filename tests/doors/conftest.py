"""The first steps and the guides are commands for a shell with curl and jq; where these are missing they cannot be walked."""

import shutil

import pytest

from tests.operation.conftest import founded_data

__all__ = ["founded_data"]

MISSING = [program for program in ("curl", "jq") if shutil.which(program) is None]
NEED_A_SHELL = [
    "test_discovery_guide.py",
    "test_first_agent_guide.py",
    "test_first_steps_walked.py",
    "test_guides_walked.py",
]
collect_ignore_glob = NEED_A_SHELL if MISSING else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        terminalreporter.write_line(
            f"not collected: {', '.join(NEED_A_SHELL)} of tests/doors (not on the PATH: {', '.join(MISSING)})"
        )
