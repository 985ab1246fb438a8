-- Plumbing: stored responses, rate limits, acts of administrators, jobs, mails, and the identity of the database.

-- Stored responses of requests with an Idempotency-Key.
CREATE TABLE plumbing_idempotency (
  body_digest bytea NOT NULL,
  answer text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Digest of caller, route and key: a request may bring ten times as much.
  scope_sha256 bytea CHECK (octet_length(scope_sha256) = 32),
  PRIMARY KEY (scope_sha256)
);
CREATE INDEX plumbing_idempotency_age ON plumbing_idempotency (created_at);

-- Times of the requests admitted within the window of a bucket; a crash may lose them.
CREATE UNLOGGED TABLE plumbing_rate_limit (
  bucket text PRIMARY KEY,
  admitted timestamptz[] NOT NULL,
  refused boolean NOT NULL DEFAULT false
);

-- Acts of administrators and of the operator.
CREATE TABLE plumbing_admin_act (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Author; null for the operator, at the command line.
  developer_id bigint,
  -- Session or API key that was presented.
  credential text NOT NULL CHECK (length(credential) BETWEEN 1 AND 80),
  act text NOT NULL CHECK (act ~ '^[a-z][a-z0-9_.-]{1,79}$'),
  subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 512),
  reason text CHECK (length(reason) BETWEEN 1 AND 2000),
  done_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX plumbing_admin_act_developer ON plumbing_admin_act (developer_id, id);
CREATE INDEX plumbing_admin_act_subject ON plumbing_admin_act (subject, id);

-- Registry that owns this data: recorded when its book is founded, compared at every start.
CREATE TABLE plumbing_registry (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  registry_name text NOT NULL CHECK (length(registry_name) BETWEEN 1 AND 128),
  trust_domain text NOT NULL CHECK (length(trust_domain) BETWEEN 3 AND 253),
  recorded_at timestamptz NOT NULL DEFAULT now(),
  -- Trust domain, or path of an operator registry in the trust domain of its frame; fixed at the first start.
  ledger_id text NOT NULL,
  CHECK (ledger_id IN (trust_domain, trust_domain || '/registry/' || registry_name))
);

-- SHA-256 of the public half of each key in DIR/keys, or of the secret; never the key.
CREATE TABLE plumbing_registry_key (
  name text PRIMARY KEY,
  fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
  recorded_at timestamptz NOT NULL DEFAULT now()
);

-- Database cluster in which positions are assigned, and the first position assigned there.
CREATE TABLE plumbing_cluster (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  system_identifier bigint NOT NULL,
  first_position bigint NOT NULL CHECK (first_position >= 0),
  recorded_at timestamptz NOT NULL DEFAULT now()
);

-- Each SQL file of the version that started last, with the SHA-256 of the content that was applied.
CREATE TABLE plumbing_sql_file (
  path text PRIMARY KEY CHECK (length(path) BETWEEN 1 AND 200),
  checksum bytea NOT NULL CHECK (octet_length(checksum) = 32),
  applied_at timestamptz NOT NULL DEFAULT now()
);

-- Background work; a row is deleted when it is done.
CREATE TABLE plumbing_job (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 80),
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
  payload jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(payload) = 'object'),
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'dead')),
  due_at timestamptz NOT NULL DEFAULT now(),
  -- Time for which the job was enqueued again while it was leased: it runs once more.
  due_again_at timestamptz,
  attempts int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  lease_until timestamptz,
  -- Number of the lease; a write under an older lease is refused.
  fencing_token bigint NOT NULL DEFAULT 0,
  last_error text CHECK (length(last_error) <= 500),
  created_at timestamptz NOT NULL DEFAULT now(),
  dead_at timestamptz,
  -- Time from which a process may take the job: it is due and no lease lasts.
  ready_at timestamptz NOT NULL GENERATED ALWAYS AS (greatest(due_at, lease_until)) STORED,
  -- Jobs of a kind with the same concurrency key are leased one at a time.
  concurrency_key text CHECK (length(concurrency_key) BETWEEN 1 AND 400),
  -- Jobs of low priority are claimed when no other job of the kind is due.
  low_priority boolean NOT NULL DEFAULT false,
  UNIQUE (kind, key),
  CHECK ((state = 'dead') = (dead_at IS NOT NULL)),
  CHECK (state = 'waiting' OR lease_until IS NULL)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX plumbing_job_concurrency ON plumbing_job (kind, concurrency_key) WHERE lease_until IS NOT NULL;
CREATE INDEX plumbing_job_ready ON plumbing_job (kind, ready_at) WHERE state = 'waiting' AND NOT low_priority;
CREATE INDEX plumbing_job_ready_low ON plumbing_job (kind, ready_at) WHERE state = 'waiting' AND low_priority;
CREATE INDEX plumbing_job_dead ON plumbing_job (kind) WHERE state = 'dead';

-- Mails waiting to be sent.
CREATE TABLE plumbing_letter (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recipient text NOT NULL CHECK (length(recipient) <= 254),
  -- Subject and text; they may hold a link that opens an account.
  sealed_content bytea NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now(),
  tries int NOT NULL DEFAULT 0,
  next_try_at timestamptz NOT NULL DEFAULT now(),
  -- End of the time in which the mail is of use.
  good_until timestamptz NOT NULL,
  -- Job that sends the mail; both are deleted together.
  job_id bigint UNIQUE REFERENCES plumbing_job (id) ON DELETE CASCADE
);
CREATE INDEX plumbing_letter_due ON plumbing_letter (next_try_at);

-- Future leaves of the log: written in the transaction of their cause, removed by the sequencer of the log.
CREATE TABLE plumbing_log_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind ~ '^[a-z_]{1,40}$'),
  object_id text NOT NULL CHECK (octet_length(object_id) BETWEEN 1 AND 512),
  sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Authors of acts: a row is locked by the transaction of the act and by the suspension of the author.
CREATE TABLE plumbing_admin_author (
  developer_id bigint PRIMARY KEY,
  barred_since timestamptz
);

-- Callers that changed since they were created.
CREATE TABLE plumbing_caller_version (
  caller text PRIMARY KEY,
  version integer NOT NULL CHECK (version > 0)
);

-- Functions. A default of the journal calls plumbing_position(); sql/positions.sql replaces it at each start.

-- Shift of positions, a transaction id plus which is a position. It grows when the database is restored into another cluster, whose
-- transaction ids may begin anew, so that every later position is above every earlier one. It is a function without a table, which costs
-- nothing: the planner puts the number in its place.
CREATE FUNCTION plumbing_position_shift() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE RETURN 0::bigint;

CREATE FUNCTION plumbing_position() RETURNS bigint LANGUAGE sql STABLE
RETURN pg_current_xact_id()::text::bigint + plumbing_position_shift();
