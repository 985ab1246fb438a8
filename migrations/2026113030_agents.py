"""Agents: bootstrap tokens for agents of organizations."""

from alembic import op

revision = "2026113030"
down_revision = "2026113020"


def upgrade() -> None:
    op.execute("""
        -- Organization that owns the agent from its creation on; null: the developer does.
        ALTER TABLE agents_bootstrap_token ADD COLUMN organization_id uuid
    """)
