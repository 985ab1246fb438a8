"""Transfers: an index of the transfers that peers named and this registry did not know, which are counted for each peer."""

from alembic import op

revision = "0258"
down_revision = "0257"

SQL = """
CREATE INDEX transfers_sent_tombstones ON transfers_sent (peer) WHERE state = 'aborted' AND code = 'UNKNOWN';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
