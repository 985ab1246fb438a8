"""Journal: reactors are run by jobs, which hold their attempts and their next time."""

from alembic import op

revision = "0041"
down_revision = "0040"

SQL = """
INSERT INTO plumbing_job (kind, key, due_at, attempts)
  SELECT 'reactor: ' || name, 'schedule', greatest(retry_at, now()), failures FROM journal_reactor WHERE failures > 0;
ALTER TABLE journal_reactor DROP COLUMN failures, DROP COLUMN retry_at;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
