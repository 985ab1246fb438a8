"""Agents: identities, their keys, bootstrap tokens, and who was a developer's first."""

from alembic import op

revision = "0006"
down_revision = "0005"

SQL = """
CREATE TABLE agents_agent (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  did text NOT NULL UNIQUE CHECK (length(did) BETWEEN 10 AND 512),
  developer_id bigint NOT NULL,
  client_id text NOT NULL UNIQUE CHECK (client_id ~ '^agent-[a-z0-9]{16}$'),
  client_secret_sha256 bytea NOT NULL CHECK (octet_length(client_secret_sha256) = 32),
  name text NOT NULL CHECK (length(name) <= 2048),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'revoked')),
  roles text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_active_at timestamptz
) WITH (fillfactor = 80);

-- Every key an agent ever had: a signature is judged by the key that was valid when it was made.
CREATE TABLE agents_key (
  agent_id bigint NOT NULL REFERENCES agents_agent,
  number integer NOT NULL CHECK (number > 0),
  public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
  valid_from timestamptz NOT NULL DEFAULT now(),
  valid_until timestamptz CHECK (valid_until > valid_from),
  PRIMARY KEY (agent_id, number)
);
CREATE UNIQUE INDEX agents_key_current ON agents_key (agent_id) WHERE valid_until IS NULL;

CREATE TABLE agents_bootstrap_token (
  token_sha256 bytea PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
  developer_id bigint NOT NULL,
  agent_type_hint text CHECK (length(agent_type_hint) <= 128),
  requested_by text CHECK (length(requested_by) <= 128),
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL CHECK (expires_at > issued_at),
  used_at timestamptz
);
CREATE INDEX agents_bootstrap_token_unused ON agents_bootstrap_token (developer_id) WHERE used_at IS NULL;

-- One row for each developer: the agent that was its first and so had the only claim to a grant.
CREATE TABLE agents_genesis_grant (
  developer_id bigint PRIMARY KEY,
  agent_id bigint NOT NULL REFERENCES agents_agent,
  claimed_at timestamptz NOT NULL DEFAULT now()
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
