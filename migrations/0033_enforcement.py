"""Enforcement: its tables bear the name of the room."""

from alembic import op

revision = "0033"
down_revision = "0032"

SQL = """
ALTER TABLE standing_suspension RENAME TO enforcement_suspension;
ALTER TABLE standing_developer_suspension RENAME TO enforcement_developer_suspension;
ALTER TABLE standing_agent RENAME TO enforcement_agent;
ALTER TABLE standing_blocklist RENAME TO enforcement_blocklist;
ALTER INDEX standing_suspension_stands RENAME TO enforcement_suspension_in_force;
ALTER INDEX standing_developer_suspension_stands RENAME TO enforcement_developer_suspension_in_force;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
