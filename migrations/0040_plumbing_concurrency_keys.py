"""Plumbing: jobs that exclude each other; webhooks are sent by jobs."""

from alembic import op

revision = "0040"
down_revision = "0039"

SQL = """
-- Of the jobs of a kind that have the same concurrency key one is leased at a time.
ALTER TABLE plumbing_job ADD COLUMN concurrency_key text CHECK (length(concurrency_key) BETWEEN 1 AND 400);
CREATE UNIQUE INDEX plumbing_job_concurrency ON plumbing_job (kind, concurrency_key) WHERE lease_until IS NOT NULL;

INSERT INTO plumbing_job (kind, key, concurrency_key, due_at)
  SELECT 'webhook', w.id, left(w.place, 400), greatest(min(d.next_attempt_at), w.paused_until)
  FROM notifications_webhook w JOIN notifications_webhook_delivery d ON d.webhook_id = w.id
  WHERE w.is_active AND d.status = 'pending' GROUP BY w.id;
ALTER TABLE notifications_webhook DROP COLUMN due_at, DROP COLUMN lease;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
