"""Reputation: bonds of agents. Ledger: what a hold holds can be destroyed. Catalogue: what a card shows of a bond."""

from alembic import op

revision = "0048"
down_revision = "0046"

SQL = """
ALTER TABLE ledger_transaction
  DROP CONSTRAINT ledger_transaction_hold,
  ADD CONSTRAINT ledger_transaction_hold CHECK (
    CASE WHEN tx_type IN ('hold', 'capture', 'release', 'expire') THEN hold_id IS NOT NULL
    ELSE hold_id IS NULL OR tx_type = 'destroy' END) NOT VALID;

-- The bond of an agent. Its units are what the hold holds; a deposit opens a hold of the whole and releases the one
-- before. Acts lock the row first.
CREATE TABLE reputation_bond (
  agent_did text PRIMARY KEY CHECK (length(agent_did) <= 512),
  id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  state text NOT NULL DEFAULT 'none' CHECK (state IN ('none', 'active', 'releasing', 'released', 'slashed')),
  hold_id bigint UNIQUE,
  matures_at timestamptz,
  releasable_at timestamptz,
  CHECK (CASE WHEN state IN ('none', 'released') THEN hold_id IS NULL
    WHEN state IN ('active', 'releasing') THEN hold_id IS NOT NULL ELSE true END),
  CHECK ((hold_id IS NOT NULL) <= (matures_at IS NOT NULL)),
  CHECK ((state = 'releasing') = (releasable_at IS NOT NULL))
) WITH (fillfactor = 80);

-- `bonded` is whether the bond counts; these are what the card states of it.
ALTER TABLE catalogue_card ADD bond_state text, ADD bond_amount bigint CHECK (bond_amount >= 0);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
