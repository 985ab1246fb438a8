"""Plumbing and agents: versions of callers, which the transaction of a request compares with what a process read before."""

from alembic import op

revision = "0241"
down_revision = "0238"

SQL = """
-- A row for each caller that changed since it was made.
CREATE TABLE plumbing_caller_version (caller text PRIMARY KEY, version integer NOT NULL CHECK (version > 0));
ALTER TABLE agents_agent ADD COLUMN version integer NOT NULL DEFAULT 0;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
