"""Transfers: the sagas of the bridge that an agent began, newest first."""

from alembic import op

revision = "2026113001"
down_revision = "2026112932"


def upgrade() -> None:
    op.execute(
        "CREATE INDEX transfers_bridge_saga_sender ON transfers_bridge_saga (sender_did, created_at DESC)"
    )
