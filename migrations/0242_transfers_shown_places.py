"""Transfers: the statement of a peer that bears the last place of its chain which was seen."""

from alembic import op

revision = "0242"
down_revision = "0241"

SQL = """
ALTER TABLE transfers_pair ADD COLUMN shown text CHECK (length(shown) <= 11000);
-- Signatures do not compress: without this each write of a row tries to.
ALTER TABLE transfers_pair SET (toast_tuple_target = 8160);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
