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

CREATE TABLE people_invite (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  code_hash bytea NOT NULL UNIQUE CHECK (octet_length(code_hash) = 32),
  -- The beginning of the code, by which whoever made it knows it again.
  code_prefix text NOT NULL CHECK (length(code_prefix) <= 16),
  author_id bigint NOT NULL REFERENCES people_developer (id),
  note text CHECK (length(note) BETWEEN 1 AND 500),
  -- What whoever registers with the code will administer.
  areas text[] NOT NULL DEFAULT '{}' CHECK (
    areas <@ ARRAY['admin_platform', 'admin_federation', 'admin_treasury', 'admin_enforcement', 'admin_support']
  ),
  max_uses int NOT NULL CHECK (max_uses > 0),
  uses int NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND max_uses),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz CHECK (expires_at > created_at),
  revoked_at timestamptz
);

-- Who came by which invitation.
CREATE TABLE people_invite_use (
  developer_id bigint PRIMARY KEY REFERENCES people_developer (id),
  invite_id bigint NOT NULL REFERENCES people_invite (id),
  used_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX people_invite_use_invite ON people_invite_use (invite_id);

-- A closed account opens nothing any more; what it held of a person is erased soon after.
ALTER TABLE people_developer ADD COLUMN closed_at timestamptz;

CREATE TABLE people_deletion (
  developer_id bigint PRIMARY KEY REFERENCES people_developer (id),
  status text NOT NULL CHECK (status IN ('requested', 'cancelled', 'processing', 'deleted')),
  requested_at timestamptz NOT NULL DEFAULT now(),
  effective_at timestamptz NOT NULL,
  -- When a deletion that something stood in the way of is tried again.
  next_try_at timestamptz NOT NULL,
  ended_at timestamptz CHECK ((ended_at IS NULL) = (status IN ('requested', 'processing')))
);
CREATE INDEX people_deletion_due ON people_deletion (next_try_at) WHERE status IN ('requested', 'processing');
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
