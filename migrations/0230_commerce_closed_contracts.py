"""Commerce: a dispute may be about a contract that an earlier ruling closed."""

from alembic import op

revision = "0230"
down_revision = "0227"

SQL = """
ALTER TABLE commerce_dispute DROP CONSTRAINT commerce_dispute_contract_status_check,
  ADD CONSTRAINT commerce_dispute_contract_status_check
  CHECK (contract_status IN ('ACCEPTED', 'SUBMITTED', 'FAILED', 'COMPLETED', 'CLOSED'));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
