"""Auditor: totals of a pair compared at a place of the peer's chain."""

from alembic import op

revision = "0189"
down_revision = "0188"

SQL = """
-- Up to which place of the peer's chain the totals agreed, and the total there; what the last comparison at a place found, in minor units.
ALTER TABLE auditor_pair
  ADD COLUMN base_epoch bigint,
  ADD COLUMN base_seq bigint,
  ADD COLUMN base_amount numeric(38),
  ADD COLUMN exact_surplus numeric(38) NOT NULL DEFAULT 0 CHECK (exact_surplus >= 0),
  ADD COLUMN exact_deficit numeric(38) NOT NULL DEFAULT 0 CHECK (exact_deficit >= 0);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
