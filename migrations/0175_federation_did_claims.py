"""Federation: which registry of this trust domain holds a DID."""

from alembic import op

revision = "0175"
down_revision = "0171"

SQL = """
CREATE TABLE federation_did_claim (
  -- SHA-256 of the DID.
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  -- The SPIFFE id of the other registry that holds the DID; null: this registry.
  holder text CHECK (length(holder) <= 512),
  state text NOT NULL DEFAULT 'held' CHECK (state IN ('waiting', 'held', 'refused')),
  claimed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Another registry's claim is either held or not kept here.
  CHECK (holder IS NULL OR state = 'held')
);

CREATE INDEX federation_did_claim_waiting ON federation_did_claim (claimed_at) WHERE state = 'waiting';

-- Agents of a registry that is the frame of its trust domain: DIDs with an issuer.
INSERT INTO federation_did_claim (digest)
SELECT sha256(convert_to(did, 'UTF8')) FROM agents_agent WHERE did ~ '^did:[^:]+:[^:]+:[^:]+$';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
