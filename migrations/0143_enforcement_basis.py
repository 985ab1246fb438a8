"""Enforcement: the column that names the basis of a suspension is called `basis`."""

from alembic import op

revision = "0143"
down_revision = "0132"

SQL = """
ALTER TABLE enforcement_suspension RENAME COLUMN ground TO basis;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
