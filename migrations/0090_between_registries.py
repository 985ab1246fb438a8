"""Ledger and auditor: totals with other registries, confirmed and compared."""

from alembic import op

revision = "0090"
down_revision = "0079"

SQL = """
-- Totals grow for ever. `confirmed_out` is what the other registry confirmed to have credited.
ALTER TABLE ledger_corridor
  ALTER COLUMN committed_out TYPE numeric(38), ALTER COLUMN committed_in TYPE numeric(38),
  ADD COLUMN confirmed_out numeric(38) NOT NULL DEFAULT 0 CHECK (confirmed_out BETWEEN 0 AND committed_out);
ALTER TABLE ledger_crossing
  ADD COLUMN confirmed_at timestamptz CHECK (confirmed_at IS NULL OR direction = 'out' AND state = 'committed');

-- The last comparison of totals with each peer, in minor units: what the peer stated, and what cannot be so.
CREATE TABLE auditor_pair (
  ledger_id text PRIMARY KEY,
  stated_out numeric(38) NOT NULL,
  stated_in numeric(38) NOT NULL,
  stated_confirmed numeric(38) NOT NULL,
  surplus numeric(38) NOT NULL CHECK (surplus >= 0),
  deficit numeric(38) NOT NULL CHECK (deficit >= 0),
  compared_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
