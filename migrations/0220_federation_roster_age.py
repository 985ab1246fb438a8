"""Federation: when the list of operators of the own frame was read last."""

from alembic import op

revision = "0220"
down_revision = "0219"

SQL = """
-- Of the frame of an operator registry; at first, when it became a peer.
ALTER TABLE federation_peer ADD COLUMN roster_read_at timestamptz NOT NULL DEFAULT clock_timestamp();
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
