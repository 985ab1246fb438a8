"""People: grants of connected clients, with their codes and refresh tokens (OAuth)."""

from alembic import op

revision = "2026112911"
down_revision = "2026112902"


def upgrade() -> None:
    op.execute("""
    -- A person's permission for a client. `client_host` is null for a registered client, whose name nobody verified.
    CREATE TABLE people_grant (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      developer_id bigint NOT NULL REFERENCES people_developer (id),
      client_id text NOT NULL CHECK (length(client_id) BETWEEN 1 AND 2048),
      client_host text CHECK (length(client_host) <= 255),
      client_name text NOT NULL CHECK (length(client_name) BETWEEN 1 AND 100),
      agent_did text CHECK (length(agent_did) <= 512),
      scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
      -- Limits without fees, in minor units.
      per_call bigint NOT NULL CHECK (per_call >= 0),
      per_day bigint NOT NULL CHECK (per_day >= 0),
      ask_above bigint NOT NULL CHECK (ask_above >= 0),
      created_at timestamptz NOT NULL DEFAULT now(),
      -- Null until the client exchanged its code.
      last_used_at timestamptz,
      ends_at timestamptz NOT NULL CHECK (ends_at > created_at),
      ended_at timestamptz,
      ended_because text CHECK ((ended_because IS NULL) = (ended_at IS NULL))
    ) WITH (fillfactor = 80);
    CREATE INDEX people_grant_living ON people_grant (developer_id, created_at, id) WHERE ended_at IS NULL;
    CREATE INDEX people_grant_agent ON people_grant (agent_did) WHERE ended_at IS NULL;
    CREATE INDEX people_grant_end ON people_grant (ends_at) WHERE ended_at IS NULL;
    CREATE INDEX people_grant_ended ON people_grant (ended_at) WHERE ended_at IS NOT NULL;

    -- Authorization codes, each good once for a minute.
    CREATE TABLE people_grant_code (
      code_hash bytea PRIMARY KEY CHECK (octet_length(code_hash) = 32),
      grant_id uuid NOT NULL UNIQUE REFERENCES people_grant (id),
      redirect_uri text NOT NULL CHECK (length(redirect_uri) <= 2048),
      challenge text NOT NULL CHECK (length(challenge) = 43),
      consent_hash bytea NOT NULL UNIQUE CHECK (octet_length(consent_hash) = 32),
      expires_at timestamptz NOT NULL,
      used_at timestamptz
    );

    -- Refresh tokens of grants, each used once; a second use ends the grant.
    CREATE TABLE people_grant_token (
      token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
      grant_id uuid NOT NULL REFERENCES people_grant (id),
      issued_at timestamptz NOT NULL DEFAULT now(),
      used_at timestamptz
    );
    CREATE INDEX people_grant_token_grant ON people_grant_token (grant_id);

    -- Metadata documents of clients, as fetched; failures are not kept.
    CREATE TABLE people_client_document (
      client_id text PRIMARY KEY CHECK (length(client_id) <= 2048),
      client_name text NOT NULL CHECK (length(client_name) BETWEEN 1 AND 100),
      redirect_uris text[] NOT NULL CHECK (cardinality(redirect_uris) BETWEEN 1 AND 20),
      expires_at timestamptz NOT NULL
    );
    CREATE INDEX people_client_document_expiry ON people_client_document (expires_at);
    """)
