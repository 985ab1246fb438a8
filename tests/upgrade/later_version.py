"""A version whose migrations go on after the baseline."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hansa.foundation.plumbing.storage import migrate as migrating

LATER = "2999010101"

_MIGRATION = """
from alembic import op

revision = "{later}"
down_revision = "{newest}"


def upgrade() -> None:
    op.get_bind().exec_driver_sql("CREATE TABLE journal_later (id bigint PRIMARY KEY)")
"""


@contextmanager
def later_version(directory: Path) -> Iterator[str]:
    """Read the migrations from a copy below `directory` that has one more, which creates a table; yields its number."""
    migrations = directory / "migrations"
    shutil.copytree(migrating.migrations_directory(), migrations)
    content = _MIGRATION.format(later=LATER, newest=migrating.newest_schema())
    (migrations / f"{LATER}_later.py").write_text(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrating, "migrations_directory", lambda: migrations)
        migrating.newest_schema.cache_clear()
        try:
            yield LATER
        finally:
            migrating.newest_schema.cache_clear()
