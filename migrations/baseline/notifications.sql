-- Notifications: webhooks of developers and their deliveries.

-- Webhooks of developers.
CREATE TABLE notifications_webhook (
  id text PRIMARY KEY CHECK (id ~ '^whk_[a-z0-9]{24}$'),
  developer_id bigint NOT NULL REFERENCES people_developer (id),
  -- One of the 20 slots of a developer: no two webhooks share one, also when they are created at once.
  slot smallint NOT NULL CHECK (slot BETWEEN 1 AND 20),
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  -- host:port of the url; one call at a time is made to it.
  place text NOT NULL,
  event_types text[] NOT NULL CHECK (cardinality(event_types) BETWEEN 1 AND 32),
  description text CHECK (length(description) <= 200),
  sealed_secret bytea NOT NULL,
  -- Former secret, which signs beside the new one for a while after a rotation.
  sealed_former_secret bytea,
  former_secret_until timestamptz,
  is_active boolean NOT NULL DEFAULT true,
  stopped_by text CHECK (stopped_by IN ('owner', 'failures', 'gone')),
  stopped_at timestamptz,
  consecutive_failures int NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Time until which a failing receiver gets no call.
  paused_until timestamptz NOT NULL DEFAULT '-infinity',
  UNIQUE (developer_id, slot),
  CHECK (is_active = (stopped_by IS NULL)),
  CHECK ((stopped_by IS NULL) = (stopped_at IS NULL)),
  CHECK ((sealed_former_secret IS NULL) = (former_secret_until IS NULL))
) WITH (fillfactor = 70);

-- Deliveries to webhooks.
CREATE TABLE notifications_webhook_delivery (
  id text PRIMARY KEY CHECK (id ~ '^msg_[a-z0-9]{24}$'),
  webhook_id text NOT NULL REFERENCES notifications_webhook (id) ON DELETE CASCADE,
  event_type text NOT NULL,
  -- Exact bytes of every attempt: a signature is valid for them only.
  payload text NOT NULL CHECK (octet_length(payload) <= 65536),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts smallint NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 8),
  next_attempt_at timestamptz DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  last_attempt_at timestamptz,
  response_status int,
  error text,
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
) WITH (fillfactor = 70);
CREATE INDEX notifications_webhook_delivery_queue ON notifications_webhook_delivery (webhook_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX notifications_webhook_delivery_newest ON notifications_webhook_delivery (webhook_id, created_at, id);
CREATE INDEX notifications_webhook_delivery_age ON notifications_webhook_delivery (created_at);
