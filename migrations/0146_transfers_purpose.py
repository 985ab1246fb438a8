"""Transfers: what is paid by a transfer between registries."""

from alembic import op

revision = "0146"
down_revision = "0132"

SQL = """
ALTER TABLE transfers_sent ADD COLUMN purpose text CHECK (purpose ~ '^[a-z_]{1,32}$');
ALTER TABLE transfers_received ADD COLUMN purpose text CHECK (purpose ~ '^[a-z_]{1,32}$');
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
