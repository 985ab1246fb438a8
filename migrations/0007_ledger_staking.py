"""Ledger: staked units, their positions and the rewards they earn."""

from alembic import op

revision = "0007"
down_revision = "0006"

SQL = """
-- The sum of what remains in an account's positions; every staking act locks the account first.
ALTER TABLE ledger_account ADD COLUMN staked bigint NOT NULL DEFAULT 0 CHECK (staked >= 0);

-- Staking moves units between two buckets of one account; everything else has two parties.
ALTER TABLE ledger_transaction
  DROP CONSTRAINT ledger_transaction_tx_type_check,
  ADD CONSTRAINT ledger_transaction_tx_type_check
    CHECK (tx_type IN ('issue', 'destroy', 'grant', 'transfer', 'stake', 'unstake', 'reward')),
  DROP CONSTRAINT ledger_transaction_check,
  ADD CONSTRAINT ledger_transaction_parties
    CHECK ((payer_id = payee_id) = (tx_type IN ('stake', 'unstake')));
CREATE INDEX ledger_transaction_staking ON ledger_transaction (payee_id, id)
  WHERE tx_type IN ('stake', 'unstake', 'reward');

ALTER TABLE ledger_posting
  DROP CONSTRAINT ledger_posting_bucket_check,
  ADD CONSTRAINT ledger_posting_bucket_check CHECK (bucket IN ('liquid', 'staked'));

CREATE TABLE ledger_stake_position (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES ledger_account,
  amount bigint NOT NULL CHECK (amount > 0),
  remaining bigint NOT NULL CHECK (remaining BETWEEN 0 AND amount),
  lock_period integer NOT NULL CHECK (lock_period BETWEEN 0 AND 365),
  staked_at timestamptz NOT NULL DEFAULT now(),
  unlocks_at timestamptz NOT NULL,
  unstaked_at timestamptz,
  -- Up to when the rewards of this position are in ledger_stake_reward; before the first time, since staked_at.
  rewarded_until timestamptz,
  last_reward_claim timestamptz,
  CHECK ((remaining = 0) = (unstaked_at IS NOT NULL))
);
CREATE INDEX ledger_stake_position_of_account ON ledger_stake_position (account_id, id);
CREATE INDEX ledger_stake_position_active ON ledger_stake_position (account_id, staked_at, id) WHERE remaining > 0;

-- What an account earned and was not paid yet.
CREATE TABLE ledger_stake_reward (
  account_id bigint PRIMARY KEY REFERENCES ledger_account,
  due bigint NOT NULL CHECK (due >= 0)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
