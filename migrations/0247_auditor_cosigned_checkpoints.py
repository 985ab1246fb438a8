"""Auditor: the cosignatures with which a checkpoint is published."""

from alembic import op

revision = "0247"
down_revision = "0246"

SQL = """
-- The signature lines of the witnesses; null while too few of them have cosigned.
ALTER TABLE auditor_log_checkpoint ADD COLUMN cosignatures text[];
CREATE INDEX auditor_log_checkpoint_cosigned ON auditor_log_checkpoint (size) WHERE cosignatures IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
