"""Commerce: awards to complainants of other registries, and those that other registries award to agents here."""

from alembic import op

revision = "0147"
down_revision = "0146"

SQL = """
ALTER TABLE commerce_settlement DROP CONSTRAINT commerce_settlement_direction_check;
ALTER TABLE commerce_settlement ADD CONSTRAINT commerce_settlement_direction_check
  CHECK (direction IN ('incoming', 'outgoing', 'awarded', 'owed'));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
