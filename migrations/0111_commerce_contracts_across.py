"""Commerce: contracts whose provider is an agent of another registry."""

from alembic import op

revision = "0111"
down_revision = "0110"

SQL = """
-- `crossing` is the transfer that is under way for the submitted part: nothing else moves the contract before it is decided.
-- `payment_transfer` is the transfer that paid, where units went to another registry.
ALTER TABLE commerce_contract
  ADD COLUMN payment_transfer uuid,
  ADD COLUMN crossing uuid,
  ADD CONSTRAINT commerce_contract_crossing CHECK (crossing IS NULL OR status = 'SUBMITTED' AND hold_id IS NULL) NOT VALID;
CREATE UNIQUE INDEX commerce_contract_paying ON commerce_contract (crossing) WHERE crossing IS NOT NULL;
ALTER TABLE commerce_contract_milestone ADD COLUMN payment_transfer uuid;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
