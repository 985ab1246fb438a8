"""Journal: the live feed follows by the position of an event, and admits by single-use tickets."""

from alembic import op

revision = "0011"
down_revision = "0010"

SQL = """
-- For whoever follows the journal. A block-range index knows nothing of the newest blocks until a vacuum has
-- summarized them, and those are the ones that a follower reads.
CREATE INDEX journal_event_position ON journal_event (xid, seq);

-- Good for half a minute; lost at a crash without harm.
CREATE UNLOGGED TABLE journal_feed_ticket (
  ticket_sha256 bytea PRIMARY KEY CHECK (octet_length(ticket_sha256) = 32),
  kind text NOT NULL CHECK (kind IN ('developer', 'agent')),
  subject text NOT NULL,
  session text NOT NULL,
  -- When the token ends that the ticket was asked for with.
  bearer_until timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
