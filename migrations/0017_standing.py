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

-- Every suspension of an agent there ever was. One that stands has no lifted_at; at most one stands on each ground.
CREATE TABLE standing_suspension (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  did text NOT NULL CHECK (length(did) <= 512),
  -- Whether the agent was named itself, or its developer.
  ground text NOT NULL CHECK (ground IN ('agent', 'developer')),
  soft boolean NOT NULL,
  reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  suspended_by bigint NOT NULL,
  suspended_at timestamptz NOT NULL DEFAULT now(),
  lifted_by bigint,
  lifted_at timestamptz,
  CHECK ((lifted_by IS NULL) = (lifted_at IS NULL)),
  CHECK (ground = 'agent' OR NOT soft)
);
CREATE UNIQUE INDEX standing_suspension_stands ON standing_suspension (did, ground) WHERE lifted_at IS NULL;

CREATE TABLE standing_developer_suspension (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  developer_id bigint NOT NULL,
  reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  suspended_by bigint NOT NULL,
  suspended_at timestamptz NOT NULL DEFAULT now(),
  lifted_by bigint,
  lifted_at timestamptz,
  CHECK ((lifted_by IS NULL) = (lifted_at IS NULL))
);
CREATE UNIQUE INDEX standing_developer_suspension_stands ON standing_developer_suspension (developer_id)
  WHERE lifted_at IS NULL;

-- One row for each agent that an administrator ever acted on, locked by each act. While withheld_since is set, the
-- agent's identity and ledger account are withheld: a soft reinstatement leaves them so.
CREATE TABLE standing_agent (
  did text PRIMARY KEY CHECK (length(did) <= 512),
  withheld_since timestamptz
);

-- What a ledger, here or of a peer, goes by. It follows standing_agent by a reactor.
CREATE TABLE standing_blocklist (
  did text PRIMARY KEY CHECK (length(did) <= 512),
  since timestamptz NOT NULL
);

ALTER TABLE catalogue_card ADD COLUMN status_since date CHECK (status_since IS NULL OR status <> 'active');
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
