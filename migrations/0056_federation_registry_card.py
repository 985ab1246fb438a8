"""Federation: the registry card: what the operator wrote, and every version that was signed."""

from alembic import op

revision = "0056"
down_revision = "0052"

SQL = """
-- One row: what the operator writes of the card. A writer locks it.
CREATE TABLE federation_registry_card (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  editable json NOT NULL DEFAULT '{}',
  -- What the card states of the licence that this registry holds; null without one.
  licence json,
  icon bytea CHECK (octet_length(icon) BETWEEN 1 AND 512000),
  icon_type text CHECK (icon_type IN ('image/png', 'image/jpeg')),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((icon IS NULL) = (icon_type IS NULL))
);
INSERT INTO federation_registry_card DEFAULT VALUES;

-- The card as it was signed, without what changes by itself (economic, stats).
CREATE TABLE federation_registry_card_version (
  version bigint PRIMARY KEY CHECK (version > 0),
  card_etag text NOT NULL CHECK (card_etag ~ '^[0-9a-f]{32}$'),
  kid text NOT NULL,
  signed_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL CHECK (expires_at > signed_at),
  document text NOT NULL CHECK (octet_length(document) BETWEEN 2 AND 262144)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
