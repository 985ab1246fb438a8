"""Ledger: room for the updates of accounts on their pages."""

from alembic import op

revision = "0227"
down_revision = "0221"

SQL = """
-- The server clears a page of old versions at every access while less of it is free than the fill factor leaves, so that
-- a page filled up to that is cleared at each update. `page_room` keeps room beyond it: it is as wide as what stays free and
-- is emptied by the statement that inserts the row (sql/account_pages.sql). Pages filled to three fifths have this room.
-- Old versions are up to half of such a table; only when it grows is it vacuumed.
ALTER TABLE ledger_account
  ADD COLUMN page_room text,
  ALTER COLUMN page_room SET STORAGE PLAIN,
  SET (fillfactor = 100, autovacuum_vacuum_scale_factor = 1);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
