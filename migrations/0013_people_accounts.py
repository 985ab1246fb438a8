"""People: two-factor login, recovery, sessions."""

from alembic import op

revision = "0013"
down_revision = "0012"

SQL = """
SELECT 1
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
