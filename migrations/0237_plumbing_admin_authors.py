"""Plumbing: whose acts as an administrator are refused, a suspended developer's among them."""

from alembic import op

revision = "0237"
down_revision = "0233"

SQL = """
-- A row for each author of an act: it is locked by the transaction of the act and by the suspension of the author.
CREATE TABLE plumbing_admin_author (developer_id bigint PRIMARY KEY, barred_since timestamptz);
INSERT INTO plumbing_admin_author (developer_id, barred_since)
SELECT developer_id, suspended_at FROM enforcement_developer_suspension WHERE lifted_at IS NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
