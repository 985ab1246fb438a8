"""Notifications: a deleted webhook stays for the seconds in which its deletion may be undone."""

from alembic import op

revision = "2026113002"
down_revision = "2026113001"


def upgrade() -> None:
    op.execute("""
ALTER TABLE notifications_webhook ADD COLUMN deleted_at timestamptz, ALTER COLUMN slot DROP NOT NULL,
  ADD CONSTRAINT notifications_webhook_slot_held CHECK ((deleted_at IS NULL) = (slot IS NOT NULL))
""")
    op.execute(
        "CREATE INDEX notifications_webhook_deleted ON notifications_webhook (deleted_at) WHERE deleted_at IS NOT NULL"
    )
