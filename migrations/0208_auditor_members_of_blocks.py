"""Auditor: the members of each block of the tree of liabilities, and places by the number of the account."""

from alembic import op

revision = "0208"
down_revision = "0206"

SQL = """
-- The next cycle places all accounts anew.
DELETE FROM auditor_liability_tree;
DROP TABLE auditor_liability;

-- The places of each account, by its number in the ledger. `is_late`: it came after the last placement, and is in no list of members.
CREATE TABLE auditor_liability (
  account_id bigint PRIMARY KEY,
  slot_a integer NOT NULL CHECK (slot_a >= 0 AND mod(slot_a, 2) = 0),
  slot_b integer NOT NULL CHECK (slot_b >= 0 AND mod(slot_b, 2) = 1),
  balance bigint NOT NULL CHECK (balance >= 0),
  is_late boolean NOT NULL DEFAULT false
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX auditor_liability_late_a ON auditor_liability (slot_a) WHERE is_late;
CREATE UNIQUE INDEX auditor_liability_late_b ON auditor_liability (slot_b) WHERE is_late;

-- The accounts at the 4,096 leaves of each block since the last placement, 8 bytes (big-endian) for each, 0 for a free leaf: no
-- leaf belongs to two.
CREATE TABLE auditor_liability_block (
  block integer PRIMARY KEY CHECK (block >= 0),
  members bytea NOT NULL CHECK (octet_length(members) = 8 * 4096)
);
ALTER TABLE auditor_liability_block ALTER COLUMN members SET STORAGE EXTERNAL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
