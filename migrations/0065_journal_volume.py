"""Journal: payments by day."""

from alembic import op

revision = "0065"
down_revision = "0064"

SQL = """
-- Payments of a day (UTC) by the time of their events; amount in minor units, without fees.
CREATE TABLE journal_volume (
  day date PRIMARY KEY,
  payments bigint NOT NULL CHECK (payments > 0),
  amount numeric NOT NULL CHECK (amount >= 0)
);

-- The transaction before which everything is in journal_volume. Whoever adds to it locks the row.
CREATE TABLE journal_volume_counted (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  before_xid bigint NOT NULL DEFAULT 0
);
INSERT INTO journal_volume_counted DEFAULT VALUES;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
