"""Agents: agents of organizations, and the treasuries of organizations."""

from alembic import op

revision = "2026113006"
down_revision = "2026113005"


def upgrade() -> None:
    op.execute("""
        ALTER TABLE agents_agent
          -- Organization that owns the agent; null: the developer does. Of an organization's agent the developer only created it.
          ADD COLUMN organization_id uuid,
          -- A treasury is the account of its organization: nobody knows its secret, and it has no key.
          ADD COLUMN kind text NOT NULL DEFAULT 'agent' CHECK (kind IN ('agent', 'treasury')),
          -- Developer who read the present secret of an organization's agent.
          ADD COLUMN secret_seen_by bigint,
          ADD CONSTRAINT agents_agent_treasury_check CHECK (kind <> 'treasury' OR organization_id IS NOT NULL)
    """)
    op.execute("""
        CREATE INDEX agents_agent_organization ON agents_agent (organization_id, id)
        WHERE organization_id IS NOT NULL
    """)
    op.execute("""
        CREATE UNIQUE INDEX agents_agent_treasury ON agents_agent (organization_id) WHERE kind = 'treasury'
    """)
