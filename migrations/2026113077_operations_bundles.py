"""Operations: bundles of agents."""

from alembic import op

revision = "2026113077"
down_revision = "2026113099"


def upgrade() -> None:
    op.execute("""
        -- The newest of each developer, as they were signed.
        CREATE TABLE operations_bundle (
          id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
          seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
          developer_id bigint NOT NULL,
          -- Owner of the agent at the time of the export, where it was an organization.
          organization_id uuid,
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          document text NOT NULL CHECK (octet_length(document) <= 2097152),
          created_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
    """)
    op.execute("CREATE INDEX operations_bundle_of ON operations_bundle (developer_id, seq DESC)")
