"""Transfers: statements of crossings that no restore needs are dropped in the order of the own chain."""

from alembic import op

revision = "0186"
down_revision = "0184"

SQL = """
-- As far as the own chain was gone through to drop statements; from the start again when the peer or this registry was restored.
-- In place of a receipt that was dropped, transfers_sent.receipt holds an empty text.
ALTER TABLE transfers_pair
  ADD COLUMN dropped_epoch bigint NOT NULL DEFAULT 0,
  ADD COLUMN dropped_seq bigint NOT NULL DEFAULT 0;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
