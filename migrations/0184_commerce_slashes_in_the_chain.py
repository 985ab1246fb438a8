"""Commerce: slashes that were settled are in the chain of the pair, and are due again after a restore."""

from alembic import op

revision = "0184"
down_revision = "0183"

SQL = """
ALTER TABLE transfers_entry DROP CONSTRAINT transfers_entry_entry_check;
ALTER TABLE transfers_entry ADD CONSTRAINT transfers_entry_entry_check
  CHECK (entry IN ('commit', 'abort', 'receipt', 'saga_decided', 'saga_ended', 'slash_settled'));

-- What is closed is due once one of the two registries was restored.
ALTER TABLE commerce_settlement DROP CONSTRAINT commerce_settlement_check2;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
