"""Commerce: copies of contracts that other registries keep, at the registry of the provider."""

from alembic import op

revision = "0180"
down_revision = "0177"

# `document` is the contract as its registry stated it last, null while it stated nothing yet. `accepting_since`: the acceptance
# was relayed then, and its outcome is not known. `is_relayed`: the provider acted on it through this registry.
SQL = """
CREATE TABLE commerce_contract_copy (
  peer text NOT NULL,
  contract_id bigint NOT NULL CHECK (contract_id > 0),
  provider_did text NOT NULL,
  frame text NOT NULL,
  contractor_did text,
  status text,
  created_at timestamptz,
  document text,
  is_relayed boolean NOT NULL DEFAULT false,
  accepting_since timestamptz,
  PRIMARY KEY (peer, contract_id, provider_did),
  CHECK (num_nulls(contractor_did, status, created_at, document) IN (0, 4)),
  CHECK (document IS NOT NULL OR accepting_since IS NOT NULL)
);
CREATE INDEX commerce_contract_copy_of_provider ON commerce_contract_copy (provider_did, created_at DESC);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
