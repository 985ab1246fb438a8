"""Transfers: the bridge, by which units of one registry are locked there and held wrapped at another."""

from alembic import op

revision = "0122"
down_revision = "0118"

SQL = """
-- Sagas that agents of this registry began: `wrap` locks own units, `redeem` sets wrapped ones aside.
CREATE TABLE transfers_bridge_saga (
  saga_id uuid PRIMARY KEY,
  direction text NOT NULL CHECK (direction IN ('wrap', 'redeem')),
  peer text NOT NULL CHECK (starts_with(peer, 'spiffe://')),
  frame text NOT NULL,
  sender_did text NOT NULL CHECK (length(sender_did) <= 512),
  receiver_did text NOT NULL CHECK (length(receiver_did) <= 512),
  amount bigint NOT NULL CHECK (amount > 0),
  -- The unit that is locked, without the name of its registry.
  currency text NOT NULL,
  state text NOT NULL CHECK (state IN ('LOCKED', 'MINT_REQUESTED', 'BURNED', 'UNLOCK_REQUESTED', 'TIMED_OUT', 'COMPLETED',
    'REFUNDED', 'FAILED')),
  code text CHECK ((code IS NOT NULL) = (state IN ('REFUNDED', 'FAILED'))),
  -- What the other registry signed about the outcome, as it came.
  answer text CHECK ((answer IS NOT NULL) = (state IN ('COMPLETED', 'REFUNDED', 'FAILED'))),
  history jsonb NOT NULL,
  hold_id bigint CHECK ((hold_id IS NOT NULL) = (direction = 'wrap')),
  is_counted boolean NOT NULL DEFAULT false,
  capability_id uuid,
  request_scope bytea,
  deadline timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When the other registry is asked again; null once the outcome is known.
  next_at timestamptz CHECK ((next_at IS NULL) = (state IN ('COMPLETED', 'REFUNDED', 'FAILED'))),
  tries integer NOT NULL DEFAULT 0
) WITH (fillfactor = 80);
CREATE INDEX transfers_bridge_saga_due ON transfers_bridge_saga (peer, next_at) WHERE next_at IS NOT NULL;

-- What this registry decided of sagas of peers, for good: a refusal or a cancellation is a tombstone against a late request.
CREATE TABLE transfers_bridge_decision (
  peer text NOT NULL CHECK (starts_with(peer, 'spiffe://')),
  saga_id uuid NOT NULL,
  direction text NOT NULL CHECK (direction IN ('wrap', 'redeem')),
  frame text NOT NULL,
  sender_did text NOT NULL CHECK (length(sender_did) <= 512),
  receiver_did text NOT NULL CHECK (length(receiver_did) <= 512),
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  is_done boolean NOT NULL,
  code text CHECK ((code IS NULL) = is_done),
  -- The request with the signature of the peer: of a wrapped amount it is the proof of the lock.
  request text NOT NULL,
  decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (peer, saga_id)
);
CREATE INDEX transfers_bridge_decision_by_id ON transfers_bridge_decision (saga_id);
CREATE INDEX transfers_bridge_decision_tombstones ON transfers_bridge_decision (peer) WHERE NOT is_done;

-- Units of other registries that are held here. `burning` is set aside by redemptions that are not decided yet.
CREATE TABLE transfers_wrapped (
  wrapped_currency text PRIMARY KEY CHECK (length(wrapped_currency) <= 270),
  peer text NOT NULL,
  wrapped bigint NOT NULL DEFAULT 0,
  burning bigint NOT NULL DEFAULT 0,
  -- The sum of the locks that the home of the unit has signed and not released.
  locked_proved bigint NOT NULL DEFAULT 0,
  CONSTRAINT transfers_wrapped_is_locked CHECK (wrapped <= locked_proved),
  CONSTRAINT transfers_wrapped_burning CHECK (0 <= burning AND burning <= wrapped)
);

CREATE TABLE transfers_wrapped_balance (
  wrapped_currency text NOT NULL REFERENCES transfers_wrapped,
  did text NOT NULL CHECK (length(did) <= 512),
  balance bigint NOT NULL CHECK (balance >= 0),
  PRIMARY KEY (wrapped_currency, did)
);
CREATE INDEX transfers_wrapped_balance_of ON transfers_wrapped_balance (did);

-- What moved a balance of wrapped units, each once.
CREATE TABLE transfers_wrapped_posting (
  peer text NOT NULL,
  saga_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('mint', 'burn', 'return')),
  wrapped_currency text NOT NULL,
  did text NOT NULL,
  delta bigint NOT NULL CHECK ((delta < 0) = (kind = 'burn')),
  balance_after bigint NOT NULL CHECK (balance_after >= 0),
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (peer, saga_id, kind),
  FOREIGN KEY (wrapped_currency, did) REFERENCES transfers_wrapped_balance
);
CREATE INDEX transfers_wrapped_posting_of ON transfers_wrapped_posting (wrapped_currency, did);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
