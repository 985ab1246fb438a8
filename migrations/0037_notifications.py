"""Notifications: webhooks are a room of their own; the blocklist is of the federation room; reactors by their rooms."""

from alembic import op

revision = "0037"
down_revision = "0036"

SQL = """
ALTER TABLE people_webhook RENAME TO notifications_webhook;
ALTER TABLE people_webhook_delivery RENAME TO notifications_webhook_delivery;
ALTER INDEX people_webhook_due RENAME TO notifications_webhook_due;
ALTER INDEX people_webhook_delivery_queue RENAME TO notifications_webhook_delivery_queue;
ALTER INDEX people_webhook_delivery_newest RENAME TO notifications_webhook_delivery_newest;
ALTER INDEX people_webhook_delivery_age RENAME TO notifications_webhook_delivery_age;
ALTER TABLE notifications_webhook_delivery RENAME COLUMN tries TO attempts;
ALTER TABLE notifications_webhook_delivery RENAME COLUMN next_try_at TO next_attempt_at;
ALTER TABLE notifications_webhook_delivery RENAME COLUMN last_tried_at TO last_attempt_at;
ALTER TABLE notifications_webhook_delivery RENAME COLUMN answered_status TO response_status;
ALTER TABLE notifications_webhook_delivery RENAME COLUMN trouble TO error;

ALTER TABLE enforcement_blocklist RENAME TO federation_blocklist;

ALTER TABLE journal_reactor_set_aside RENAME COLUMN trouble TO error;
UPDATE journal_reactor SET name = 'enforcement: blocklist' WHERE name = 'standing: blocklist';
UPDATE journal_reactor SET name = 'notifications: owner notices' WHERE name = 'standing: owners told by webhook';
UPDATE journal_reactor_set_aside SET reactor = 'enforcement: blocklist' WHERE reactor = 'standing: blocklist';
UPDATE journal_reactor_set_aside SET reactor = 'notifications: owner notices'
  WHERE reactor = 'standing: owners told by webhook';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
