"""Enforcement: suspensions of children because an ancestor is suspended."""

from alembic import op

revision = "2026113079"
down_revision = "2026113078"


def upgrade() -> None:
    op.execute("""
        ALTER TABLE enforcement_suspension
          DROP CONSTRAINT enforcement_suspension_basis_check,
          ADD CONSTRAINT enforcement_suspension_basis_check
            CHECK (basis IN ('agent', 'developer', 'organization', 'ancestor'))
    """)
