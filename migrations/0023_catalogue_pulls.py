"""Catalogue: pulls of the cards that agents serve themselves."""

from alembic import op

revision = "0023"
down_revision = "0022"

SQL = """
SELECT 1;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
