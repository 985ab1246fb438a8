"""The registry to which a database belongs: the name of its ledger."""

from alembic import op

revision = "0170"
down_revision = "0165"

SQL = """
-- The trust domain, or the path of an operator registry in the trust domain of its frame: fixed at the first start.
ALTER TABLE plumbing_registry ADD COLUMN ledger_id text;
UPDATE plumbing_registry SET ledger_id = trust_domain;
ALTER TABLE plumbing_registry
  ALTER COLUMN ledger_id SET NOT NULL,
  ADD CHECK (ledger_id IN (trust_domain, trust_domain || '/registry/' || registry_name));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
