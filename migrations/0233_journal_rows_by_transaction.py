"""Journal: the row of a transfer is found by its transaction instead of by its key, which follows from it."""

from alembic import op

revision = "0233"
down_revision = "0232"

# An index of a partition is built while nobody writes to it: ten million rows take some seconds.
SQL = """
DO $$
DECLARE
  part text;
BEGIN
  FOR part IN SELECT relid::regclass::text FROM pg_partition_tree('journal_event') WHERE isleaf LOOP
    EXECUTE format('CREATE UNIQUE INDEX IF NOT EXISTS %%I ON %%I (tx_id) WHERE tx_id IS NOT NULL', part || '_tx', part);
  END LOOP;
END $$;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
