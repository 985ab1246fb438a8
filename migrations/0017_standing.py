"""Standing and the reactors of the journal."""

from alembic import op

revision = "0017"
down_revision = "0016"

SQL = """
-- Where each reactor stands: behind the event (xid, seq). Its row is also its lease.
CREATE TABLE journal_reactor (
  name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 80),
  xid bigint NOT NULL,
  seq bigint NOT NULL,
  -- How often the next event has failed, and when it may be tried again.
  failures int NOT NULL DEFAULT 0 CHECK (failures >= 0),
  retry_at timestamptz NOT NULL DEFAULT '-infinity'
);

-- Events that a reactor gave up on.
CREATE TABLE journal_reactor_set_aside (
  reactor text NOT NULL,
  xid bigint NOT NULL,
  seq bigint NOT NULL,
  event_type text NOT NULL,
  failures int NOT NULL,
  trouble text NOT NULL,
  set_aside_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (reactor, xid, seq)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
