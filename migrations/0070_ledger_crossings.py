"""Ledger: units that cross to and from other registries."""

from alembic import op

revision = "0070"
down_revision = "0068"

SQL = """
-- What crosses between an agent here and another registry, once for each direction and transfer id of that registry's
-- transit account. `out` moves when it is reserved and when it is aborted, `in` when it is committed. The fee of `in` lies
-- inside the amount.
CREATE TABLE ledger_crossing (
  transit_id bigint NOT NULL REFERENCES ledger_account,
  direction text NOT NULL CHECK (direction IN ('out', 'in')),
  transfer_id uuid NOT NULL,
  agent_id bigint NOT NULL REFERENCES ledger_account,
  counterparty text CHECK (length(counterparty) <= 512),
  amount bigint NOT NULL CHECK (amount > 0),
  fee bigint NOT NULL DEFAULT 0 CHECK (fee >= 0 AND fee < amount AND (direction = 'in' OR fee = 0)),
  state text NOT NULL DEFAULT 'reserved' CHECK (state IN ('reserved', 'committed', 'aborted')),
  tx_id bigint CHECK ((tx_id IS NOT NULL) = (direction = 'out' OR state = 'committed')),
  return_tx_id bigint CHECK ((return_tx_id IS NOT NULL) = (direction = 'out' AND state = 'aborted')),
  reserved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  decided_at timestamptz CHECK ((decided_at IS NULL) = (state = 'reserved')),
  PRIMARY KEY (transit_id, direction, transfer_id)
) WITH (fillfactor = 80);
CREATE INDEX ledger_crossing_undecided ON ledger_crossing (transit_id) WHERE state = 'reserved';
CREATE INDEX ledger_crossing_undecided_of_agent ON ledger_crossing (agent_id) WHERE state = 'reserved';

-- What was committed with each other registry in all.
CREATE TABLE ledger_corridor (
  transit_id bigint PRIMARY KEY REFERENCES ledger_account,
  committed_out bigint NOT NULL DEFAULT 0 CHECK (committed_out >= 0),
  committed_in bigint NOT NULL DEFAULT 0 CHECK (committed_in >= 0)
);

-- When an account was closed: no unit reaches it any more.
ALTER TABLE ledger_account ADD COLUMN closed_at timestamptz;
CREATE INDEX ledger_account_system ON ledger_account (id) WHERE kind = 'system';

ALTER TABLE ledger_transaction
  DROP CONSTRAINT ledger_transaction_tx_type,
  ADD CONSTRAINT ledger_transaction_tx_type CHECK (tx_type IN ('issue', 'destroy', 'grant', 'transfer', 'stake',
    'unstake', 'reward', 'hold', 'capture', 'release', 'expire', 'out', 'in', 'return')) NOT VALID;
-- The last guard: a transfer moves once in each of these ways.
CREATE UNIQUE INDEX ledger_transaction_crossing ON ledger_transaction
  (tx_type, (CASE tx_type WHEN 'out' THEN payee_id ELSE payer_id END), ref)
  WHERE tx_type IN ('out', 'in', 'return') AND ref IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
