"""Auditor: a retired key signs no checkpoint larger than the log was at its retirement."""

from alembic import op

revision = "0191"
down_revision = "0190"

SQL = """
-- How many leaves the log had: the leaf of the next key is beyond them, and larger checkpoints are signed by that key.
ALTER TABLE auditor_key ADD COLUMN retired_at_size bigint CHECK (retired_at_size >= 0);
UPDATE auditor_key retired SET retired_at_size = coalesce(
  (SELECT min(leaf.index) FROM auditor_log_leaf leaf JOIN auditor_key later ON leaf.object_id = later.kid
   WHERE leaf.kind = 'auditor_key' AND later.valid_from >= retired.retired_at),
  (SELECT size FROM auditor_log))
WHERE retired_at IS NOT NULL;
ALTER TABLE auditor_key ADD CHECK ((retired_at IS NULL) = (retired_at_size IS NULL));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
