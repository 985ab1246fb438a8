"""Transfers: pools of two currencies, and swaps inside of transfers to other registries."""

from alembic import op

revision = "0117"
down_revision = "0116"

SQL = """
-- One pool for each other registry, as this one sees it. The home prices; the other side follows it. Amounts are minor units:
-- `_own` of this registry's currency, `_foreign` of the other's. `in_` and `out_` are what pending swaps add and take.
CREATE TABLE transfers_pool (
  peer text PRIMARY KEY CHECK (starts_with(peer, 'spiffe://')),
  frame text NOT NULL,
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{2,8}$'),
  is_home boolean NOT NULL,
  mode text NOT NULL CHECK (mode IN ('pool', 'fixed')),
  -- Units of the other currency for one unit of that of the home.
  rate numeric(38, 18) CHECK (rate <> 'NaN' AND rate > 0),
  -- What the side that is not the home funds first; null once it did.
  proposed bigint CHECK (proposed > 0),
  reserve_own bigint NOT NULL DEFAULT 0 CHECK (reserve_own >= 0),
  -- Follows the ledger of the other registry, and may be behind it.
  reserve_foreign bigint NOT NULL DEFAULT 0,
  in_own bigint NOT NULL DEFAULT 0 CHECK (in_own >= 0),
  out_own bigint NOT NULL DEFAULT 0 CHECK (out_own >= 0),
  in_foreign bigint NOT NULL DEFAULT 0 CHECK (in_foreign >= 0),
  out_foreign bigint NOT NULL DEFAULT 0 CHECK (out_foreign >= 0),
  opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The reserves after the last act of an administrator: the breaker compares with no price before it.
  base_own bigint NOT NULL DEFAULT 0,
  base_foreign bigint NOT NULL DEFAULT 0,
  base_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The reserve of this registry pays everything that it has promised.
  CHECK (out_own <= reserve_own)
) WITH (fillfactor = 50);

-- The reserves before the first change of each minute, and what the swaps of the minute brought.
CREATE TABLE transfers_pool_minute (
  peer text NOT NULL REFERENCES transfers_pool ON DELETE CASCADE,
  minute timestamptz NOT NULL,
  reserve_own bigint NOT NULL,
  reserve_foreign bigint NOT NULL,
  swaps integer NOT NULL DEFAULT 0,
  fees_own bigint NOT NULL DEFAULT 0,
  fees_foreign bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (peer, minute)
) WITH (fillfactor = 50);

-- What administrators did with pools here, until the other registry has taken it in.
CREATE TABLE transfers_pool_act (
  act_id uuid PRIMARY KEY,
  peer text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('propose', 'fund', 'drain', 'terms')),
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX transfers_pool_act_of_peer ON transfers_pool_act (peer, created_at);

-- The acts of other registries that were taken in.
CREATE TABLE transfers_pool_heard (
  peer text NOT NULL,
  act_id uuid NOT NULL,
  heard_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (peer, act_id)
);

CREATE TABLE transfers_quote (
  quote_id uuid PRIMARY KEY,
  agent_did text NOT NULL CHECK (length(agent_did) <= 512),
  peer text NOT NULL,
  amount_in bigint NOT NULL CHECK (amount_in > 0),
  amount_out bigint NOT NULL CHECK (amount_out > 0),
  expires_at timestamptz NOT NULL
);
CREATE INDEX transfers_quote_expiry ON transfers_quote (expires_at);

-- A swap: `amount_out` where the sender's registry is the home of the pool and fixes it; else the receiver's fixes it.
ALTER TABLE transfers_sent
  ADD currency_received text,
  ADD min_amount_out bigint CHECK (min_amount_out > 0),
  ADD amount_out bigint CHECK (amount_out >= min_amount_out),
  ADD quote_id uuid,
  ADD CONSTRAINT transfers_sent_swap CHECK ((currency_received IS NOT NULL) = (min_amount_out IS NOT NULL));
-- A quote is spent once; an aborted swap frees it.
CREATE UNIQUE INDEX transfers_sent_quote ON transfers_sent (quote_id) WHERE quote_id IS NOT NULL AND state <> 'aborted';

DO $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT conname FROM pg_constraint WHERE conrelid = 'transfers_received'::regclass AND contype = 'c'
    AND position('(net + fee) = amount' IN pg_get_constraintdef(oid)) > 0
  LOOP
    EXECUTE 'ALTER TABLE transfers_received DROP CONSTRAINT ' || quote_ident(name);
  END LOOP;
END $$;
ALTER TABLE transfers_received
  ADD currency_received text,
  ADD min_amount_out bigint CHECK (min_amount_out > 0),
  ADD amount_out bigint CHECK (amount_out >= min_amount_out),
  ADD quote_id uuid,
  ADD CONSTRAINT transfers_received_swap CHECK ((currency_received IS NOT NULL) = (min_amount_out IS NOT NULL)),
  ADD CONSTRAINT transfers_received_net CHECK (state NOT IN ('prepared', 'committed')
    OR CASE WHEN min_amount_out IS NULL THEN net + fee = amount ELSE net >= min_amount_out END) NOT VALID;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
