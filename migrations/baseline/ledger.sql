-- Ledger: accounts, transactions, postings, stakes, holds, and units that cross between registries.

-- One account for each DID and unit. Units held for a time are in escrow on the account of their payer.
CREATE TABLE ledger_account (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  did text NOT NULL CHECK (length(did) BETWEEN 10 AND 512),
  kind text NOT NULL CHECK (kind IN ('agent', 'system')),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  liquid bigint NOT NULL DEFAULT 0 CHECK (liquid >= 0),
  -- Units sent in each of the last minutes: (minute, units sent, largest balance before sending), flat.
  pace bigint[] NOT NULL DEFAULT '{}',
  opened_at timestamptz NOT NULL DEFAULT now(),
  -- Sum of the remaining stake positions; every staking act locks the account first.
  staked bigint NOT NULL DEFAULT 0 CHECK (staked >= 0),
  -- Unit of another registry; empty for the registry's own.
  unit text NOT NULL DEFAULT '' CHECK (length(unit) <= 64),
  escrow bigint NOT NULL DEFAULT 0 CHECK (escrow >= 0),
  -- Debt to another registry; may be negative, within its limits. Only accounts of the registry have any.
  transit bigint NOT NULL DEFAULT 0 CHECK (transit = 0 OR kind = 'system'),
  transit_floor bigint CHECK (transit_floor <= 0),
  transit_ceiling bigint CHECK (transit_ceiling >= 0),
  -- Time of closing: no unit reaches the account afterwards.
  closed_at timestamptz,
  -- The server clears a page of old versions at every access while less of it is free than the fill factor leaves, so that a page filled up
  -- to that is cleared at each update. `page_room` keeps room beyond it: it is as wide as the free part and is emptied by the statement
  -- that inserts the row (sql/account_pages.sql). Pages filled to three fifths have this room. Old versions are up to half of such a table;
  -- it is vacuumed only when it grows.
  page_room text,
  CONSTRAINT ledger_account_transit_limits CHECK (transit >= transit_floor AND transit <= transit_ceiling),
  CONSTRAINT ledger_account_did_unit UNIQUE (did, unit)
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 1);
ALTER TABLE ledger_account ALTER COLUMN page_room SET STORAGE PLAIN;
CREATE INDEX ledger_account_system ON ledger_account (id) WHERE kind = 'system';

-- Movements between accounts. Staking and holds move units between two buckets of one account, all others have two parties.
CREATE TABLE ledger_transaction (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tx_type text NOT NULL CHECK (tx_type IN ('issue', 'destroy', 'grant', 'transfer', 'stake', 'unstake', 'reward', 'hold', 'capture',
    'release', 'expire', 'out', 'in', 'return', 'swap', 'pool')),
  payer_id bigint,
  payee_id bigint,
  amount bigint NOT NULL CHECK (amount > 0),
  fee bigint NOT NULL DEFAULT 0 CHECK (fee >= 0),
  message text CHECK (length(message) <= 256),
  ref text,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  hold_id bigint,
  CHECK ((payer_id IS NULL) = (tx_type = 'issue')),
  CHECK ((payee_id IS NULL) = (tx_type = 'destroy')),
  CONSTRAINT ledger_transaction_parties CHECK ((payer_id = payee_id) = (tx_type IN ('stake', 'unstake', 'hold', 'release', 'expire'))),
  CONSTRAINT ledger_transaction_hold CHECK (CASE WHEN tx_type IN ('hold', 'capture', 'release', 'expire') THEN hold_id IS NOT NULL
    ELSE hold_id IS NULL OR tx_type = 'destroy' END)
);
-- Units are issued once for each reference, the genesis supply included, and destroyed once for each.
CREATE UNIQUE INDEX ledger_transaction_supply ON ledger_transaction (tx_type, ref) WHERE tx_type IN ('issue', 'destroy');
CREATE INDEX ledger_transaction_staking ON ledger_transaction (payee_id, id) WHERE tx_type IN ('stake', 'unstake', 'reward');
-- A payment is made once: `a2a-pay-<token id>` is the reference of its transaction, for good.
CREATE UNIQUE INDEX ledger_transaction_payment ON ledger_transaction (ref) WHERE tx_type IN ('transfer', 'capture') AND ref IS NOT NULL;
-- Last guard: a transfer to or from another registry moves once in each direction, and returns once.
CREATE UNIQUE INDEX ledger_transaction_crossing ON ledger_transaction (tx_type, (CASE tx_type WHEN 'out' THEN payee_id ELSE payer_id END),
  ref) WHERE tx_type IN ('out', 'in', 'return') AND ref IS NOT NULL;
-- Last guard: the output of a swap enters its leg once, and a reserve is funded or drained once under each reference.
CREATE UNIQUE INDEX ledger_transaction_swap ON ledger_transaction (tx_type, payer_id, ref)
  WHERE tx_type IN ('swap', 'pool') AND ref IS NOT NULL;

-- Changes of balances by transactions.
CREATE TABLE ledger_posting (
  tx_id bigint NOT NULL,
  account_id bigint NOT NULL,
  bucket text NOT NULL CHECK (bucket IN ('liquid', 'staked', 'escrow', 'transit')),
  delta bigint NOT NULL CHECK (delta <> 0),
  balance_after bigint NOT NULL,
  PRIMARY KEY (account_id, tx_id, bucket),
  CONSTRAINT ledger_posting_balance CHECK (balance_after >= 0 OR bucket = 'transit')
);

-- Stakes of agents.
CREATE TABLE ledger_stake_position (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES ledger_account,
  amount bigint NOT NULL CHECK (amount > 0),
  remaining bigint NOT NULL CHECK (remaining BETWEEN 0 AND amount),
  lock_period integer NOT NULL CHECK (lock_period BETWEEN 0 AND 365),
  staked_at timestamptz NOT NULL DEFAULT now(),
  unlocks_at timestamptz NOT NULL,
  unstaked_at timestamptz,
  -- End of the time whose rewards are in ledger_stake_reward; null: none are, since staked_at.
  rewarded_until timestamptz,
  last_reward_claim timestamptz,
  CHECK ((remaining = 0) = (unstaked_at IS NOT NULL))
);
CREATE INDEX ledger_stake_position_of_account ON ledger_stake_position (account_id, id);
CREATE INDEX ledger_stake_position_active ON ledger_stake_position (account_id, staked_at, id) WHERE remaining > 0;

-- Rewards that an account earned and has not been paid.
CREATE TABLE ledger_stake_reward (
  account_id bigint PRIMARY KEY REFERENCES ledger_account,
  due bigint NOT NULL CHECK (due >= 0)
);

-- Units set aside for an owner's act (a token, a milestone, a bond). While a hold is open, `remaining` is the part of its amount and fee
-- that was not captured, and is in the payer's escrow; a hold ends once.
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
  -- Begin of each reason to freeze. The last reason that ends adds the time that was left.
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

-- Units that cross between an agent here and another registry, once for each direction and transfer id of that registry's transit account.
-- `out` moves when it is reserved and when it is aborted, `in` when it is committed; `swap_out` moves when it is reserved, committed (to
-- the leg of the pool) and aborted, `swap_in` when it is committed. The fee of `in` lies inside the amount.
CREATE TABLE ledger_crossing (
  transit_id bigint NOT NULL REFERENCES ledger_account,
  direction text NOT NULL CHECK (direction IN ('out', 'in', 'swap_out', 'swap_in')),
  transfer_id uuid NOT NULL,
  agent_id bigint NOT NULL REFERENCES ledger_account,
  counterparty text CHECK (length(counterparty) <= 512),
  amount bigint NOT NULL CHECK (amount > 0),
  fee bigint NOT NULL DEFAULT 0,
  state text NOT NULL DEFAULT 'reserved' CHECK (state IN ('reserved', 'committed', 'aborted')),
  tx_id bigint,
  return_tx_id bigint,
  reserved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  decided_at timestamptz CHECK ((decided_at IS NULL) = (state = 'reserved')),
  confirmed_at timestamptz,
  PRIMARY KEY (transit_id, direction, transfer_id),
  CONSTRAINT ledger_crossing_fee CHECK (fee >= 0 AND fee < amount AND (direction = 'in' OR fee = 0)),
  CONSTRAINT ledger_crossing_tx CHECK ((tx_id IS NOT NULL) = (direction IN ('out', 'swap_out') OR state = 'committed')),
  CONSTRAINT ledger_crossing_return_tx
    CHECK ((return_tx_id IS NOT NULL) = (direction = 'out' AND state = 'aborted' OR direction = 'swap_out' AND state <> 'reserved')),
  CONSTRAINT ledger_crossing_confirmed CHECK (confirmed_at IS NULL OR direction = 'out' AND state = 'committed')
) WITH (fillfactor = 80);
CREATE INDEX ledger_crossing_undecided ON ledger_crossing (transit_id) WHERE state = 'reserved';
CREATE INDEX ledger_crossing_undecided_of_agent ON ledger_crossing (agent_id) WHERE state = 'reserved';

-- Totals that were committed with each other registry.
CREATE TABLE ledger_corridor (
  transit_id bigint PRIMARY KEY REFERENCES ledger_account,
  committed_out numeric(38) NOT NULL DEFAULT 0 CHECK (committed_out >= 0),
  committed_in numeric(38) NOT NULL DEFAULT 0 CHECK (committed_in >= 0),
  -- Total that the other registry confirmed to have credited.
  confirmed_out numeric(38) NOT NULL DEFAULT 0 CHECK (confirmed_out BETWEEN 0 AND committed_out),
  -- Units issued to complainants because the other registry confirmed a slash; they count toward its net_in_limit.
  compensated numeric(38) NOT NULL DEFAULT 0 CHECK (compensated >= 0)
);

-- Units that were to reach a closed account and were paid to their owner, once for each transaction that brought them.
CREATE TABLE ledger_paid_claim (
  -- Transaction that credited the account for unclaimed units.
  tx_id bigint PRIMARY KEY REFERENCES ledger_transaction,
  paid_tx_id bigint NOT NULL UNIQUE REFERENCES ledger_transaction,
  claimed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Grants of administrators in the order of their commits: each is written under the lock of the treasury.
CREATE TABLE ledger_treasury_grant (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  payee text NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0)
);
