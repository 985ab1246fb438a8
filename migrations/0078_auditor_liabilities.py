"""Auditor: the Merkle-sum tree over all accounts, and its root in each verdict."""

from alembic import op

revision = "0078"
down_revision = "0074"

SQL = """
-- The root of the tree of a verdict; null in older verdicts, and where no tree adds up to what circulates.
ALTER TABLE auditor_verdict
  ADD COLUMN liabilities_root bytea CHECK (octet_length(liabilities_root) = 32),
  ADD COLUMN liabilities_accounts bigint CHECK (liabilities_accounts >= 0),
  ADD CHECK ((liabilities_root IS NULL) = (liabilities_accounts IS NULL));

-- One row: the tree of the newest verdict that has one. `blocks` has its lowest public level, 40 bytes for each node.
CREATE TABLE auditor_liability_tree (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  verdict_id bigint NOT NULL,
  as_of_seq bigint NOT NULL,
  -- The accounts of events from this position on may have changed since; a position means something in one cluster only.
  cluster bigint NOT NULL,
  position bigint NOT NULL,
  relics_to_seq bigint NOT NULL,
  -- Salts and the split of each balance follow from it.
  secret bytea NOT NULL CHECK (octet_length(secret) = 32),
  placed_at timestamptz NOT NULL,
  accounts bigint NOT NULL CHECK (accounts >= 0),
  blocks bytea NOT NULL CHECK (mod(octet_length(blocks), 40) = 0)
);

-- The places of each account: no leaf belongs to two.
CREATE TABLE auditor_liability (
  account text PRIMARY KEY,
  slot_a integer NOT NULL UNIQUE CHECK (slot_a >= 0 AND mod(slot_a, 2) = 0),
  slot_b integer NOT NULL UNIQUE CHECK (slot_b >= 0 AND mod(slot_b, 2) = 1),
  balance bigint NOT NULL CHECK (balance >= 0)
) WITH (fillfactor = 80);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
