"""Enforcement: suspensions of agents because their organization is suspended."""

from alembic import op

revision = "2026113009"
down_revision = "2026113008"


def upgrade() -> None:
    op.execute("""
        ALTER TABLE enforcement_suspension
          DROP CONSTRAINT enforcement_suspension_basis_check,
          ADD CONSTRAINT enforcement_suspension_basis_check CHECK (basis IN ('agent', 'developer', 'organization'))
    """)
