"""Operations: deployments, which move the address of an agent."""

from alembic import op

revision = "2026113076"
down_revision = "2026113075"


def upgrade() -> None:
    op.execute("""
        CREATE TABLE operations_deployment (
          id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
          -- Order of the list.
          seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          release_id uuid NOT NULL REFERENCES operations_release (id),
          url text NOT NULL CHECK (length(url) <= 2048),
          binding text NOT NULL,
          protocol_version text NOT NULL,
          note text CHECK (length(note) <= 500),
          -- The agent itself asked: the card at the address has to be signed by it.
          must_be_signed boolean NOT NULL,
          -- Version of the card that was read; of another one nothing is overwritten.
          card_version integer NOT NULL,
          status text NOT NULL DEFAULT 'pending'
            CHECK (status IN ('pending', 'verifying', 'active', 'failed', 'superseded')),
          reason text CHECK (length(reason) <= 64),
          detail text CHECK (length(detail) <= 300),
          former_url text,
          -- Deployment to which a rollback leads.
          before_id uuid REFERENCES operations_deployment (id),
          rolls_back uuid REFERENCES operations_deployment (id),
          created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          ended_at timestamptz,
          CHECK ((reason IS NOT NULL) = (status = 'failed')),
          CHECK ((former_url IS NOT NULL) = (status IN ('active', 'superseded'))),
          CHECK ((ended_at IS NULL) = (status IN ('pending', 'verifying')))
        )
    """)
    op.execute("""
        CREATE UNIQUE INDEX operations_deployment_active ON operations_deployment (agent_did) WHERE status = 'active'
    """)
    op.execute("""
        CREATE UNIQUE INDEX operations_deployment_open ON operations_deployment (agent_did)
        WHERE status IN ('pending', 'verifying')
    """)
    op.execute("CREATE INDEX operations_deployment_of ON operations_deployment (agent_did, seq DESC)")
