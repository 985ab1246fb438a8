"""Plumbing: which SQL files were applied."""

from alembic import op

revision = "0030"
down_revision = "0029"

SQL = """
-- Each SQL file of the version that started last, with the SHA-256 of the content that was applied.
CREATE TABLE plumbing_sql_file (
  path text PRIMARY KEY CHECK (length(path) BETWEEN 1 AND 200),
  checksum bytea NOT NULL CHECK (octet_length(checksum) = 32),
  applied_at timestamptz NOT NULL DEFAULT now()
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
