"""Plumbing: what administrators did."""

from alembic import op

revision = "0019"
down_revision = "0018"

SQL = """
SELECT 1
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
