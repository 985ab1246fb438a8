"""Commerce: payment tokens, and the one transfer that each of them makes."""

from alembic import op

revision = "0034"
down_revision = "0033"

SQL = """
-- Single-use payment tokens. The token itself is not kept, only its SHA-256. An authorized token has one of the 20 slots
-- of its caller, so that no caller has more unused ones. A reserved token has a hold in the ledger.
CREATE TABLE commerce_payment_token (
  id uuid PRIMARY KEY,
  token_sha256 bytea NOT NULL UNIQUE CHECK (octet_length(token_sha256) = 32),
  caller text NOT NULL,
  payee text NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  slot smallint NOT NULL CHECK (slot BETWEEN 1 AND 20),
  status text NOT NULL DEFAULT 'authorized'
    CHECK (status IN ('authorized', 'consumed', 'settling', 'settled', 'released', 'expired', 'failed')),
  capture_by text NOT NULL DEFAULT 'caller' CHECK (capture_by IN ('caller', 'payee')),
  is_reserved boolean NOT NULL DEFAULT false,
  hold_id bigint,
  -- The fee of a firm quote; null: the fee of the moment, or the one that the hold fixed.
  fixed_fee bigint CHECK (fixed_fee >= 0),
  quote_id uuid,
  contract_id bigint,
  resource text CHECK (length(resource) BETWEEN 1 AND 512),
  request_digest text CHECK (request_digest ~ '^sha256:[0-9a-f]{64}$'),
  -- What was counted against the caller's spend policy and capability when the token was authorized.
  is_counted boolean NOT NULL DEFAULT false,
  capability_id uuid,
  use_id text CHECK (length(use_id) BETWEEN 1 AND 256),
  consumed_at timestamptz,
  task_id text CHECK (length(task_id) <= 1024),
  capture_amount bigint CHECK (capture_amount > 0),
  settling_at timestamptz,
  tx_id bigint,
  fee bigint CHECK (fee >= 0),
  counts boolean,
  reason text CHECK (length(reason) BETWEEN 1 AND 64),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  ended_at timestamptz,
  CHECK (caller <> payee),
  CHECK (capture_by = 'caller' OR is_reserved),
  CHECK (hold_id IS NULL OR is_reserved),
  CHECK (capture_amount <= amount),
  CHECK (expires_at > created_at),
  CHECK (status <> 'consumed' OR consumed_at IS NOT NULL),
  CHECK (status NOT IN ('settling', 'settled', 'failed') OR settling_at IS NOT NULL),
  CHECK ((status = 'settled') = (tx_id IS NOT NULL)),
  CHECK ((status = 'settled') = (fee IS NOT NULL)),
  CHECK ((status = 'settled') = (counts IS NOT NULL)),
  CHECK ((status = 'failed') = (reason IS NOT NULL)),
  CHECK ((status IN ('settled', 'released', 'expired', 'failed')) = (ended_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX commerce_payment_token_slot ON commerce_payment_token (caller, slot) WHERE status = 'authorized';
CREATE UNIQUE INDEX commerce_payment_token_quote ON commerce_payment_token (quote_id) WHERE quote_id IS NOT NULL;
CREATE UNIQUE INDEX commerce_payment_token_transaction ON commerce_payment_token (tx_id) WHERE tx_id IS NOT NULL;
CREATE INDEX commerce_payment_token_of_caller ON commerce_payment_token (caller, created_at DESC, id DESC);
CREATE INDEX commerce_payment_token_of_payee ON commerce_payment_token (payee, created_at DESC, id DESC);
CREATE INDEX commerce_payment_token_due ON commerce_payment_token (expires_at)
  WHERE status IN ('authorized', 'consumed');
CREATE INDEX commerce_payment_token_settling ON commerce_payment_token (settling_at) WHERE status = 'settling';

-- A payment is made once: `a2a-pay-<token id>` is the reference of its transaction, for good.
CREATE UNIQUE INDEX ledger_transaction_payment ON ledger_transaction (ref)
  WHERE tx_type IN ('transfer', 'capture') AND ref IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
