"""Plumbing: background jobs; mails and forgotten passwords that wait get theirs."""

from alembic import op

revision = "0032"
down_revision = "0031"

SQL = """
CREATE TABLE plumbing_job (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 80),
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
  payload jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(payload) = 'object'),
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'dead')),
  due_at timestamptz NOT NULL DEFAULT now(),
  -- Enqueued again while it was leased: it runs once more.
  due_again_at timestamptz,
  attempts int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  lease_until timestamptz,
  -- Rises with each lease; what a process writes under an older one is refused.
  fencing_token bigint NOT NULL DEFAULT 0,
  last_error text CHECK (length(last_error) <= 500),
  created_at timestamptz NOT NULL DEFAULT now(),
  dead_at timestamptz,
  -- When a process may take it: when it is due and no lease lasts.
  ready_at timestamptz NOT NULL GENERATED ALWAYS AS (greatest(due_at, lease_until)) STORED,
  UNIQUE (kind, key),
  CHECK ((state = 'dead') = (dead_at IS NOT NULL)),
  CHECK (state = 'waiting' OR lease_until IS NULL)
) WITH (fillfactor = 70);
CREATE INDEX plumbing_job_ready ON plumbing_job (kind, ready_at) WHERE state = 'waiting';

-- A mail is sent by its job and deleted with it. Null: written by an older version, which looks at next_try_at alone.
ALTER TABLE plumbing_letter ADD COLUMN job_id bigint UNIQUE REFERENCES plumbing_job (id) ON DELETE CASCADE;
INSERT INTO plumbing_job (kind, key, due_at, attempts, created_at)
  SELECT 'mail', 'letter-' || id, next_try_at, tries, written_at FROM plumbing_letter;
UPDATE plumbing_letter l SET job_id = j.id, next_try_at = 'infinity'
  FROM plumbing_job j WHERE j.kind = 'mail' AND j.key = 'letter-' || l.id;

INSERT INTO plumbing_job (kind, key, payload, created_at)
  SELECT 'forgotten password', id::text, jsonb_build_object('id', id), asked_at FROM people_forgotten_password;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
