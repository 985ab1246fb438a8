"""Federation: since when the roots of this registry are published."""

from alembic import op

revision = "0132"
down_revision = "0131"

SQL = """
ALTER TABLE federation_trust ADD COLUMN own_counted_at timestamptz NOT NULL DEFAULT clock_timestamp();
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
