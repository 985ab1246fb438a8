"""Transfers: pools are closed, and the other registry follows."""

from alembic import op

revision = "0165"
down_revision = "0164"

SQL = """
ALTER TABLE transfers_pool_act DROP CONSTRAINT transfers_pool_act_kind_check;
ALTER TABLE transfers_pool_act ADD CONSTRAINT transfers_pool_act_kind_check
  CHECK (kind IN ('propose', 'fund', 'drain', 'terms', 'close'));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
