"""Enforcement: a soft suspension of an agent is a soft one of its children."""

from alembic import op

revision = "2026113099"
down_revision = "2026113085"


def upgrade() -> None:
    op.execute("""
        ALTER TABLE enforcement_suspension
          DROP CONSTRAINT enforcement_suspension_check1,
          ADD CONSTRAINT enforcement_suspension_check1 CHECK (basis IN ('agent', 'ancestor') OR NOT soft)
    """)
