"""Auditor: when the totals of a pair agreed last."""

from alembic import op

revision = "0187"
down_revision = "0186"

SQL = """
-- When the own totals were read that agreed with those of the peer, both signed; null before the first time.
ALTER TABLE auditor_pair ADD COLUMN agreed_at timestamptz;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
