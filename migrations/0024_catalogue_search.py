"""Catalogue: what the search index is fed from."""

from alembic import op

revision = "0024"
down_revision = "0023"

SQL = """
SELECT 1;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
