"""A database of a newer version is refused in one line, by a start and by a command, and stays as it was."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hansa.foundation.plumbing.storage.migrate import migrate, newest_schema, present_schema
from tests.operation.own_database import own_database
from tests.operation.registry_process import run
from tests.upgrade.later_version import LATER, later_version


@pytest.fixture
async def newer(postgres: str, tmp_path: Path) -> AsyncIterator[str]:
    """The DSN of a database that a version with one more migration made."""
    async with own_database(postgres) as dsn:
        with later_version(tmp_path):
            await migrate(dsn)
        yield dsn


@pytest.mark.parametrize("command", ["serve --port=0", "db migrate"])
async def test_a_database_of_a_newer_version_is_refused_in_one_line_and_nothing_is_written(
    newer: str, tmp_path: Path, command: str
):
    ended = await run(*command.split(), data_dir=tmp_path / "data", DATABASE_URL=newer)
    assert (ended.code, ended.output) == (1, "")
    [line] = ended.complaints
    assert f"is {LATER}, which this version does not know; it needs {newest_schema()}" in line
    assert "install the version of hansa that wrote it" in line
    assert await present_schema(newer) == LATER
    assert not (tmp_path / "data").exists()
