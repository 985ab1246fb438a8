"""People: webhooks and their deliveries."""

from alembic import op

revision = "0018"
down_revision = "0017"

SQL = """
CREATE TABLE people_webhook (
  id text PRIMARY KEY CHECK (id ~ '^whk_[a-z0-9]{24}$'),
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  -- One of the places that a developer has for webhooks: no two share one, however many are made at once.
  slot smallint NOT NULL CHECK (slot BETWEEN 1 AND 20),
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  -- host:port of the url; one call at a time is made to it.
  place text NOT NULL,
  event_types text[] NOT NULL CHECK (cardinality(event_types) BETWEEN 1 AND 32),
  description text CHECK (length(description) <= 200),
  sealed_secret bytea NOT NULL,
  -- After a rotation both secrets sign for a while.
  sealed_former_secret bytea,
  former_secret_until timestamptz,
  is_active boolean NOT NULL DEFAULT true,
  stopped_by text CHECK (stopped_by IN ('owner', 'failures', 'gone')),
  stopped_at timestamptz,
  consecutive_failures int NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- When the next delivery is to be sent, null while there is none; while one is under way, when its lease ends.
  due_at timestamptz,
  lease uuid,
  -- A receiver that fails is left alone until then, whatever else there is to tell it.
  paused_until timestamptz NOT NULL DEFAULT '-infinity',
  UNIQUE (developer_id, slot),
  CHECK (is_active = (stopped_by IS NULL)),
  CHECK ((stopped_by IS NULL) = (stopped_at IS NULL)),
  CHECK ((sealed_former_secret IS NULL) = (former_secret_until IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX people_webhook_due ON people_webhook (due_at) WHERE is_active;

CREATE TABLE people_webhook_delivery (
  id text PRIMARY KEY CHECK (id ~ '^msg_[a-z0-9]{24}$'),
  webhook_id text NOT NULL REFERENCES people_webhook (id) ON DELETE CASCADE,
  event_type text NOT NULL,
  -- The very bytes of every try: a signature holds for nothing else.
  payload text NOT NULL CHECK (octet_length(payload) <= 65536),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  tries smallint NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND 8),
  next_try_at timestamptz DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  last_tried_at timestamptz,
  answered_status int,
  trouble text,
  CHECK ((status = 'pending') = (next_try_at IS NOT NULL))
) WITH (fillfactor = 70);
CREATE INDEX people_webhook_delivery_queue ON people_webhook_delivery (webhook_id, next_try_at)
  WHERE status = 'pending';
CREATE INDEX people_webhook_delivery_newest ON people_webhook_delivery (webhook_id, created_at, id);
CREATE INDEX people_webhook_delivery_age ON people_webhook_delivery (created_at);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
