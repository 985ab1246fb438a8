"""Reputation: units with which organizations pay for jobs that count."""

from alembic import op

revision = "2026113031"
down_revision = "2026113030"


def upgrade() -> None:
    op.execute("""
        CREATE TABLE reputation_organization_funds (
          organization_id uuid PRIMARY KEY,
          available numeric(38) NOT NULL DEFAULT 0 CHECK (available >= 0)
        )
    """)
