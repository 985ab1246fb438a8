"""The first steps and the guides are commands for a shell with curl and jq; where these are missing they cannot be walked."""

import shutil
from collections.abc import AsyncIterator

import pytest

from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.operation.conftest import founded_data
from tests.registry import DatabaseFarm, TestRegistry

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


@pytest.fixture(scope="module")
async def shared_registry(
    database_farm: DatabaseFarm,
    founded_registries: FoundedRegistries,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[TestRegistry]:
    """One registry for the tests of a file that read: its description of the API takes a second to make."""
    registries = RegistriesOfATest(database_farm, founded_registries, tmp_path_factory.mktemp("registry"))
    registry = await registries.start()
    await registry.indexed()
    yield registry
    await registries.end()
