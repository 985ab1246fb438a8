"""Ledger: units that were to reach a closed account are paid to their owner, once for each transaction that brought them."""

from alembic import op

revision = "0160"
down_revision = "0159"

SQL = """
CREATE TABLE ledger_paid_claim (
  -- The transaction that credited the account for unclaimed units.
  tx_id bigint PRIMARY KEY REFERENCES ledger_transaction,
  paid_tx_id bigint NOT NULL UNIQUE REFERENCES ledger_transaction,
  claimed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
