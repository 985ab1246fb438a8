"""Agents: rotation of keys, certificates."""

from alembic import op

revision = "0015"
down_revision = "0014"

SQL = """
SELECT 1
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
