"""Catalogue: card pulls and health checks are jobs; plumbing: jobs of low priority."""

from alembic import op

revision = "0052"
down_revision = "0051"

SQL = """
-- Claimed only when no other job of the kind is due.
ALTER TABLE plumbing_job ADD COLUMN low_priority boolean NOT NULL DEFAULT false;
DROP INDEX plumbing_job_ready;
CREATE INDEX plumbing_job_ready ON plumbing_job (kind, ready_at) WHERE state = 'waiting' AND NOT low_priority;
CREATE INDEX plumbing_job_ready_low ON plumbing_job (kind, ready_at) WHERE state = 'waiting' AND low_priority;
CREATE INDEX plumbing_job_dead ON plumbing_job (kind) WHERE state = 'dead';

-- The due time of a visit that is under way is the end of its lease, so the job waits for that.
INSERT INTO plumbing_job (kind, key, concurrency_key, due_at, low_priority)
  SELECT CASE errand WHEN 'pull' THEN 'card pull' ELSE 'health check' END, card_id::text, place, due_at, failures > 0
  FROM catalogue_visit;
ALTER TABLE catalogue_visit DROP COLUMN due_at, DROP COLUMN lease;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
