"""Federation: the keys with which the registry signs."""

from alembic import op

revision = "0022"
down_revision = "0021"

SQL = """
SELECT 1;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
