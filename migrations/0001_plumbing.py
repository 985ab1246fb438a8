"""Plumbing: remembered answers and rate limits."""

from alembic import op

revision = "0001"
down_revision = None

SQL = """
CREATE TABLE plumbing_idempotency (
  caller text NOT NULL,
  route text NOT NULL,
  key text NOT NULL,
  body_digest bytea NOT NULL,
  answer text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (caller, route, key)
);
CREATE INDEX plumbing_idempotency_age ON plumbing_idempotency (created_at);

-- The times of the requests admitted within the window of a bucket; lost at a crash without harm.
CREATE UNLOGGED TABLE plumbing_rate_limit (
  bucket text PRIMARY KEY,
  admitted timestamptz[] NOT NULL,
  refused boolean NOT NULL DEFAULT false
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
