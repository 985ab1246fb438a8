"""Operations: releases, which are versions of the code behind a DID."""

from alembic import op

revision = "2026113075"
down_revision = "2026113073"


def upgrade() -> None:
    op.execute("""
        CREATE TABLE operations_release (
          id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
          -- Order of the list.
          seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          version text NOT NULL CHECK (length(version) BETWEEN 1 AND 64),
          status text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'active', 'retired')),
          commit_hash text CHECK (commit_hash ~ '^[0-9a-f]{7,64}$'),
          release_notes text CHECK (octet_length(release_notes) <= 8192),
          -- {name: {uri, sha256}}
          artifacts json,
          is_stable boolean NOT NULL,
          created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          activated_at timestamptz,
          UNIQUE (agent_did, version),
          CHECK ((activated_at IS NULL) = (status = 'draft'))
        )
    """)
    op.execute("""
        CREATE UNIQUE INDEX operations_release_active ON operations_release (agent_did) WHERE status = 'active'
    """)
    op.execute("CREATE INDEX operations_release_of ON operations_release (agent_did, seq DESC)")
