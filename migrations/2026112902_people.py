"""People: the time at which a developer accepted the terms."""

from alembic import op

revision = "2026112902"
down_revision = "2026112901"


def upgrade() -> None:
    # Null without consent, and for a consent of before this column.
    op.execute("""
    ALTER TABLE people_developer ADD COLUMN tos_accepted_at timestamptz,
      ADD CONSTRAINT people_developer_tos_accepted_at CHECK (tos_accepted_at IS NULL OR tos_version IS NOT NULL)
    """)
