"""Reputation: the fees of an agent's counted jobs, which bound the bonds that its record replaces."""

from alembic import op

revision = "0257"
down_revision = "0256"

SQL = """
-- Fees of the jobs for agents of this registry that count since the last dispute that the agent lost as its defendant. Jobs before
-- this version have none.
ALTER TABLE reputation_record ADD COLUMN fees numeric(38) NOT NULL DEFAULT 0 CHECK (fees >= 0);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
