"""Ledger: escrow and transit beside liquid and staked, holds, accounts by unit."""

from alembic import op

revision = "0031"
down_revision = "0030"

SQL = """
-- One account for each DID and unit; the registry's own unit has no name here. Units held for a time stand in escrow on
-- their payer's account. Transit is what is owed to another registry and may be negative, within its limits; only the
-- registry's own accounts have any.
ALTER TABLE ledger_account
  ADD COLUMN unit text NOT NULL DEFAULT '' CHECK (length(unit) <= 64),
  ADD COLUMN escrow bigint NOT NULL DEFAULT 0 CHECK (escrow >= 0),
  ADD COLUMN transit bigint NOT NULL DEFAULT 0 CHECK (transit = 0 OR kind = 'system'),
  ADD COLUMN transit_floor bigint CHECK (transit_floor <= 0),
  ADD COLUMN transit_ceiling bigint CHECK (transit_ceiling >= 0),
  ADD CONSTRAINT ledger_account_transit_limits CHECK (transit >= transit_floor AND transit <= transit_ceiling),
  DROP CONSTRAINT ledger_account_did_key,
  ADD CONSTRAINT ledger_account_did_unit UNIQUE (did, unit);

-- Every older row fits the wider rules: the tables are not read again.
ALTER TABLE ledger_transaction
  ADD COLUMN hold_id bigint,
  DROP CONSTRAINT ledger_transaction_tx_type_check,
  ADD CONSTRAINT ledger_transaction_tx_type CHECK (tx_type IN ('issue', 'destroy', 'grant', 'transfer', 'stake',
    'unstake', 'reward', 'hold', 'capture', 'release', 'expire', 'out', 'in')) NOT VALID,
  DROP CONSTRAINT ledger_transaction_parties,
  ADD CONSTRAINT ledger_transaction_parties
    CHECK ((payer_id = payee_id) = (tx_type IN ('stake', 'unstake', 'hold', 'release', 'expire'))) NOT VALID,
  ADD CONSTRAINT ledger_transaction_hold
    CHECK ((hold_id IS NULL) = (tx_type NOT IN ('hold', 'capture', 'release', 'expire'))) NOT VALID;
ALTER TABLE ledger_posting
  DROP CONSTRAINT ledger_posting_bucket_check,
  ADD CONSTRAINT ledger_posting_bucket CHECK (bucket IN ('liquid', 'staked', 'escrow', 'transit')) NOT VALID,
  DROP CONSTRAINT ledger_posting_balance_after_check,
  ADD CONSTRAINT ledger_posting_balance CHECK (balance_after >= 0 OR bucket = 'transit') NOT VALID;

-- Units set aside for an owner's act (a token, a milestone, a bond). While a hold is open, `remaining` is what of its
-- amount and fee was not captured, and stands in the payer's escrow; a hold ends once.
CREATE TABLE ledger_hold (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner_kind text NOT NULL CHECK (length(owner_kind) BETWEEN 1 AND 64),
  owner_id text NOT NULL CHECK (length(owner_id) BETWEEN 1 AND 128),
  payer_id bigint NOT NULL REFERENCES ledger_account,
  payee_id bigint REFERENCES ledger_account,
  amount bigint NOT NULL CHECK (amount > 0),
  fee_held bigint NOT NULL CHECK (fee_held >= 0),
  captured bigint NOT NULL DEFAULT 0 CHECK (captured BETWEEN 0 AND amount),
  fee_captured bigint NOT NULL DEFAULT 0 CHECK (fee_captured BETWEEN 0 AND fee_held),
  remaining bigint NOT NULL CHECK (remaining >= 0),
  opened_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  -- When each reason to freeze began. The last one that ends adds the time that was left.
  freezes jsonb NOT NULL DEFAULT '{}',
  frozen_at timestamptz,
  ended_at timestamptz,
  ending text CHECK (ending IN ('captured', 'released', 'expired')),
  CHECK (remaining IN (0, amount - captured + fee_held - fee_captured)),
  CHECK ((remaining = 0) = (ended_at IS NOT NULL)),
  CHECK ((ended_at IS NULL) = (ending IS NULL)),
  CHECK ((frozen_at IS NULL) = (freezes = '{}'))
) WITH (fillfactor = 80);
CREATE INDEX ledger_hold_of_owner ON ledger_hold (owner_kind, owner_id);
CREATE INDEX ledger_hold_of_payer ON ledger_hold (payer_id) WHERE remaining > 0;
CREATE INDEX ledger_hold_due ON ledger_hold (expires_at) WHERE remaining > 0 AND frozen_at IS NULL;

-- Orders of every kind are decided in one function, which stands in a file.
DROP FUNCTION ledger_transfer_batch(text, text, text, bigint[], json, int);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
