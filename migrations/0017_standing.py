"""Standing and the reactors of the journal."""

from alembic import op

revision = "0017"
down_revision = "0016"

SQL = """
SELECT 1
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
