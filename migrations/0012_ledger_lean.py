"""Ledger: what a transfer does not need to write."""

from alembic import op

revision = "0012"
down_revision = "0011"

SQL = """
SELECT 1
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
