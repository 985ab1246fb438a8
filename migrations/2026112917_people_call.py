"""People: the connected client and its grant in the log of calls."""

from alembic import op

revision = "2026112917"
down_revision = "2026112916"


def upgrade() -> None:
    op.execute("ALTER TABLE people_call ADD COLUMN client text, ADD COLUMN grant_id uuid")
