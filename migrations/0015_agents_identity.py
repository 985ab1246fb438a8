"""Agents: the end of an agent, replaced secrets, enrolment for mutual TLS."""

from alembic import op

revision = "0015"
down_revision = "0014"

SQL = """
ALTER TABLE agents_agent ADD COLUMN revoked_at timestamptz CHECK (revoked_at IS NULL OR status = 'revoked');
-- Rises with each new client secret: a token names the one that bought it.
ALTER TABLE agents_agent ADD COLUMN secret_number integer NOT NULL DEFAULT 1 CHECK (secret_number > 0);
CREATE INDEX agents_agent_developer ON agents_agent (developer_id, id);

-- One identity for each agent that ever asked for one. Disabled is the agent's own act and stays so until it asks again;
-- revoked is an administrator's, and is lifted with the suspension.
CREATE TABLE agents_mtls (
  agent_id bigint PRIMARY KEY REFERENCES agents_agent,
  spiffe_id text NOT NULL UNIQUE CHECK (length(spiffe_id) <= 2048),
  status text NOT NULL DEFAULT 'enrolled' CHECK (status IN ('enrolled', 'disabled', 'revoked')),
  enrolled_at timestamptz NOT NULL DEFAULT now(),
  -- When the newest certificate was issued, and its end.
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL CHECK (expires_at > issued_at),
  ended_at timestamptz,
  CHECK ((ended_at IS NULL) = (status = 'enrolled'))
);
CREATE INDEX agents_mtls_ended ON agents_mtls (ended_at, agent_id) WHERE status <> 'enrolled';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
