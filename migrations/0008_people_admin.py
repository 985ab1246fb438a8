"""People: administrators and their areas."""

from alembic import op

revision = "0008"
down_revision = "0007"

SQL = """
ALTER TABLE people_developer
  -- Whether the operator made this account an administrator's. Areas decide what it may do, however it got them.
  ADD COLUMN is_admin boolean NOT NULL DEFAULT false,
  ADD COLUMN areas text[] NOT NULL DEFAULT '{}' CHECK (
    areas <@ ARRAY['admin_platform', 'admin_federation', 'admin_treasury', 'admin_enforcement', 'admin_support']
  );
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
