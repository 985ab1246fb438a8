"""Commerce: a contract has the ledger id of its provider's registry, where that is another one."""

from alembic import op

revision = "0200"
down_revision = "0191"

# Within a trust domain the DID does not name the registry; the claim of the DID does, by the SPIFFE id of a peer. Elsewhere
# the namespace names it, unless several peers share it; of these the frame, whose ledger id is the namespace, is taken.
SQL = """
ALTER TABLE commerce_contract ADD COLUMN provider_registry text;
UPDATE commerce_contract c SET provider_registry = p.ledger_id, is_across = true
FROM federation_did_claim d JOIN federation_peer p ON p.spiffe_id = d.holder
WHERE d.digest = sha256(convert_to(c.provider_did, 'UTF8')) AND p.ledger_id IS NOT NULL;
UPDATE commerce_contract SET provider_registry = split_part(provider_did, ':', 3)
WHERE is_across AND provider_registry IS NULL;
ALTER TABLE commerce_contract ADD CHECK (provider_registry IS NULL OR is_across);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
