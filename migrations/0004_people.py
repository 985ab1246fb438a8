"""People: developers, their recovery keys, verification links, sessions and refresh tokens."""

from alembic import op

revision = "0004"
down_revision = "0003"

SQL = """
CREATE TABLE people_developer (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  -- SHA-256 of the two readings of the name: a reading may be far longer than an index entry can be.
  name_as_written bytea NOT NULL CONSTRAINT people_developer_name_as_written UNIQUE,
  name_in_lower_case bytea NOT NULL CONSTRAINT people_developer_name_in_lower_case UNIQUE,
  email text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  password_hash text NOT NULL CHECK (length(password_hash) <= 255),
  is_verified boolean NOT NULL,
  age_confirmed boolean NOT NULL,
  -- The version of the terms that was accepted; none where no consent was asked or given.
  tos_version text,
  verification_resent_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
-- Addresses are ASCII; the collation keeps the fold independent of the server's locale.
CREATE UNIQUE INDEX people_developer_email ON people_developer (lower(email COLLATE "C"));

CREATE TABLE people_recovery_key (
  key_hash bytea PRIMARY KEY,
  developer_id bigint NOT NULL REFERENCES people_developer (id)
);

-- A consumed link stays on the account without its expiry, so that a second visit is recognised.
CREATE TABLE people_verification_link (
  token_hash bytea PRIMARY KEY,
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  expires_at timestamptz
);

-- A session is one login and the family of refresh tokens that follows from it.
CREATE TABLE people_session (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  opened_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz
);
CREATE INDEX people_session_open ON people_session (developer_id) WHERE ended_at IS NULL;

CREATE TABLE people_refresh_token (
  token_hash bytea PRIMARY KEY,
  session_id uuid NOT NULL REFERENCES people_session (id),
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
