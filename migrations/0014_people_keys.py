"""People: API keys, invitations, deletion of accounts."""

from alembic import op

revision = "0014"
down_revision = "0013"

SQL = """
SELECT 1
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
