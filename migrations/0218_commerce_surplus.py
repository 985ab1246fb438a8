"""Commerce: which transfers paid a contract what it does not owe."""

from alembic import op

revision = "0218"
down_revision = "0208"

SQL = """
-- The ledger transaction by which the units left; null as long as the contract owes what the transfer pays.
ALTER TABLE commerce_contract_transfer ADD COLUMN surplus_tx_id bigint;
CREATE INDEX commerce_contract_transfer_surplus ON commerce_contract_transfer (contract_id) WHERE surplus_tx_id IS NOT NULL;
CREATE INDEX commerce_contract_transfer_surplus_tx ON commerce_contract_transfer (surplus_tx_id) WHERE surplus_tx_id IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
