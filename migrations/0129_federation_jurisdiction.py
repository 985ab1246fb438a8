"""Federation: authorizations that the jurisdiction demands."""

from alembic import op

revision = "0129"
down_revision = "0125"

SQL = """
CREATE TABLE federation_authorization (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  action text NOT NULL CHECK (action IN ('exchange.listing', 'exchange.ipo', 'fiat.lane', 'registry.operation')),
  authority text NOT NULL CHECK (length(authority) BETWEEN 1 AND 256),
  subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 512),
  tier text NOT NULL CHECK (tier IN ('reference', 'hash', 'contract')),
  reference text CHECK (length(reference) BETWEEN 1 AND 1000),
  sha256 bytea CHECK (octet_length(sha256) = 32),
  contract_id bigint CHECK (contract_id > 0),
  -- Of the contract's immutable subset, as it was when it was recorded.
  contract_digest bytea CHECK (octet_length(contract_digest) = 32),
  valid_until timestamptz,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  withdrawn_at timestamptz CHECK (withdrawn_at >= recorded_at),
  CHECK (tier <> 'reference' OR reference IS NOT NULL),
  CHECK ((tier = 'hash') = (sha256 IS NOT NULL)),
  CHECK ((tier = 'contract') = (contract_id IS NOT NULL)),
  CHECK ((contract_id IS NULL) = (contract_digest IS NULL))
);
CREATE INDEX federation_authorization_covering ON federation_authorization (action, subject)
  WHERE withdrawn_at IS NULL;
CREATE INDEX federation_authorization_referencing ON federation_authorization (contract_id)
  WHERE withdrawn_at IS NULL AND contract_id IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
