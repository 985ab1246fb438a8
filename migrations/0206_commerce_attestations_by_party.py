"""Commerce: the public contracts of an agent are found without its others."""

from alembic import op

revision = "0206"
down_revision = "0205"

SQL = """
CREATE INDEX commerce_contract_attestations_of_contractor ON commerce_contract (contractor_did, id)
  WHERE contract_type = 'attestation';
CREATE INDEX commerce_contract_attestations_of_provider ON commerce_contract (provider_did, id)
  WHERE contract_type = 'attestation';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
