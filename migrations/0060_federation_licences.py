"""Federation: the licence-signing key, the certificates that this registry issued, and the one that it holds."""

from alembic import op

revision = "0060"
down_revision = "0056"

SQL = """
-- With what this registry signs licences: another key than that of its card. The private half of a retired key is gone.
CREATE TABLE federation_licensing_key (
  kid text PRIMARY KEY CHECK (kid ~ '^[A-Za-z0-9_-]{43}$'),
  public_key bytea NOT NULL UNIQUE CHECK (octet_length(public_key) = 32),
  sealed_key bytea CHECK ((sealed_key IS NULL) = (retired_at IS NOT NULL)),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired_at timestamptz
);
CREATE UNIQUE INDEX federation_licensing_key_present ON federation_licensing_key ((true)) WHERE retired_at IS NULL;

-- Every certificate that this registry issued. Expired is one that is active past its end.
CREATE TABLE federation_certificate (
  lid text PRIMARY KEY CHECK (length(lid) BETWEEN 1 AND 128),
  number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  hash text NOT NULL UNIQUE CHECK (hash ~ '^[0-9a-f]{64}$'),
  certificate text NOT NULL CHECK (length(certificate) < 2000),
  type text NOT NULL CHECK (type IN ('genesis', 'frame', 'operator')),
  sub_trust_domain text NOT NULL,
  sub_name text NOT NULL,
  plan text NOT NULL,
  issued_at timestamptz NOT NULL,
  expires_at timestamptz CHECK (expires_at > issued_at),
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'suspended', 'revoked', 'superseded')),
  -- The act that suspended it: reinstating lifts what the same act suspended and nothing else.
  suspension uuid CHECK ((suspension IS NOT NULL) = (state = 'suspended')),
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX federation_certificate_one_genesis ON federation_certificate ((true)) WHERE type = 'genesis';
CREATE INDEX federation_certificate_subject ON federation_certificate (sub_trust_domain, sub_name);
CREATE INDEX federation_certificate_suspension ON federation_certificate (suspension) WHERE suspension IS NOT NULL;

-- One row: the certificate that another registry, the genesis, issued to this one.
CREATE TABLE federation_network_certificate (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  certificate text NOT NULL,
  hash text NOT NULL,
  chain text[] NOT NULL,
  installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row: the signed list of all certificates above, made anew when one changed or a day has gone.
CREATE TABLE federation_issued_list (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  list text,
  generated_at bigint NOT NULL DEFAULT 0,
  is_current boolean NOT NULL DEFAULT false
);
INSERT INTO federation_issued_list DEFAULT VALUES;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
