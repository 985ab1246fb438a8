"""Commerce: bond or record that the provider of an open, funded proposal needs."""

from alembic import op

revision = "0253"
down_revision = "0252"

SQL = """
ALTER TABLE commerce_contract ADD COLUMN provider_bond bigint CHECK (provider_bond >= 0),
  ADD COLUMN provider_jobs integer CHECK (provider_jobs >= 0);

-- Open proposals that were made before require the bond of the default.
UPDATE commerce_contract SET provider_bond = (amount + 99) / 100
WHERE status = 'PROPOSED' AND funded AND provider_did IS NULL;

CREATE INDEX commerce_contract_open_accepted ON commerce_contract (provider_did)
  WHERE provider_bond IS NOT NULL OR provider_jobs IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
