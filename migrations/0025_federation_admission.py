"""Federation: the licence keys of admitted registries, and the certificates of the operator's own services."""

from alembic import op

revision = "0025"
down_revision = "0024"

SQL = """
-- The admission of another registry, which shows a key of which only the hash is kept.
CREATE TABLE federation_licence_key (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  key_hash bytea NOT NULL UNIQUE CHECK (octet_length(key_hash) = 32),
  trust_domain text NOT NULL CHECK (length(trust_domain) BETWEEN 3 AND 253),
  note text CHECK (length(note) BETWEEN 1 AND 500),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'revoked')),
  issued_by bigint NOT NULL,
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz CHECK (expires_at > issued_at),
  changed_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz
);
CREATE INDEX federation_licence_key_newest ON federation_licence_key (issued_at DESC, id);

-- Which certificates the identity authority gave to services. One that is not here opens nothing.
CREATE TABLE federation_service_certificate (
  fingerprint bytea PRIMARY KEY CHECK (octet_length(fingerprint) = 32),
  name text NOT NULL CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  spiffe_id text NOT NULL CHECK (spiffe_id ~ '^spiffe://' AND length(spiffe_id) <= 512),
  issued_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL CHECK (expires_at > issued_at),
  revoked_at timestamptz
);
CREATE INDEX federation_service_certificate_name ON federation_service_certificate (name, issued_at);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
