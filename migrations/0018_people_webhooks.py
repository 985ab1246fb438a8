"""People: webhooks and their deliveries."""

from alembic import op

revision = "0018"
down_revision = "0017"

SQL = """
SELECT 1
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
