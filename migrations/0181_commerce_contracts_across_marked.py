"""Commerce: a contract says whether its provider is an agent of another registry, to which it is stated."""

from alembic import op

revision = "0181"
down_revision = "0180"

# What is known of contracts until now: a provider whose DID names another issuer than that of the contractor.
SQL = """
ALTER TABLE commerce_contract ADD COLUMN is_across boolean NOT NULL DEFAULT false;
UPDATE commerce_contract SET is_across = true
WHERE provider_did ~ '^did:[^:]+:[^:]+:[^:]+$' AND split_part(provider_did, ':', 3) <> split_part(contractor_did, ':', 3);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
