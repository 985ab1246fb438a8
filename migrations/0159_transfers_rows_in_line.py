"""Transfers: rows of crossings stay in line with the signed statements of the peer."""

from alembic import op

revision = "0159"
down_revision = "0155"

SQL = """
-- A statement bears the signed statement that it relies on, so that a row reaches 5 kB. Signatures do not compress: without this,
-- each write of a row tries to, and stores the statements in a table of their own.
ALTER TABLE transfers_sent SET (toast_tuple_target = 8160);
ALTER TABLE transfers_received SET (toast_tuple_target = 8160);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
