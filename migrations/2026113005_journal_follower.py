"""Journal: place of each follower outside the registry."""

from alembic import op

revision = "2026113005"
down_revision = "2026113004"


def upgrade() -> None:
    op.execute("""
    -- Position of each follower, behind the event (xid, seq) that its stream acknowledged last.
    CREATE TABLE journal_follower (
      name text PRIMARY KEY CHECK (name ~ '^[A-Za-z0-9_-]{1,80}$'),
      xid bigint NOT NULL CHECK (xid >= 0),
      seq bigint NOT NULL CHECK (seq >= 0),
      moved_at timestamptz NOT NULL DEFAULT clock_timestamp()
    )
    """)
