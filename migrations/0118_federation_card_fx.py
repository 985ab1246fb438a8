"""Federation: what the registry card states of swaps."""

from alembic import op

revision = "0118"
down_revision = "0117"

SQL = """
ALTER TABLE federation_registry_card ADD fx json;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
