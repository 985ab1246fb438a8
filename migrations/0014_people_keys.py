"""People: API keys, invitations, deletion of accounts."""

from alembic import op

revision = "0014"
down_revision = "0013"

SQL = """
CREATE TABLE people_api_key (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  key_hash bytea NOT NULL UNIQUE CHECK (octet_length(key_hash) = 32),
  -- The beginning of the key, by which its owner knows it again.
  key_prefix text NOT NULL CHECK (length(key_prefix) <= 16),
  description text NOT NULL CHECK (length(description) BETWEEN 1 AND 100),
  scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz CHECK (expires_at > created_at),
  last_used_at timestamptz,
  revoked_at timestamptz
) WITH (fillfactor = 80);
CREATE INDEX people_api_key_owner ON people_api_key (developer_id, id);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
