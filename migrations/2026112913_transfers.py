"""Transfers: the grant of a connected client against which a crossing was counted."""

from alembic import op

revision = "2026112913"
down_revision = "2026112912"


def upgrade() -> None:
    op.execute("""
    ALTER TABLE transfers_sent ADD COLUMN grant_id uuid;
    ALTER TABLE transfers_bridge_saga ADD COLUMN grant_id uuid;
    """)
