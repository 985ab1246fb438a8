"""Catalogue: mirrored cards."""

from alembic import op

revision = "0025"
down_revision = "0024"

SQL = """
SELECT 1;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
