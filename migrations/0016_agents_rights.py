"""Agents: spend policies and approvals, capabilities."""

from alembic import op

revision = "0016"
down_revision = "0015"

SQL = """
SELECT 1
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
