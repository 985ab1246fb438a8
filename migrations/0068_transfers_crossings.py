"""Transfers: units that cross to and from other registries, and the chain of decisions kept for each of them."""

from alembic import op

revision = "0068"
down_revision = "0065"

SQL = """
-- What this registry knows of one other: its own chain, how far it has seen the other's, and whether units cross.
CREATE TABLE transfers_pair (
  peer text PRIMARY KEY CHECK (starts_with(peer, 'spiffe://')),
  own_epoch bigint NOT NULL DEFAULT 1 CHECK (own_epoch > 0),
  own_seq bigint NOT NULL DEFAULT 0 CHECK (own_seq >= 0),
  own_head text NOT NULL DEFAULT repeat('0', 64) CHECK (own_head ~ '^[0-9a-f]{64}$'),
  seen_epoch bigint NOT NULL DEFAULT 0 CHECK (seen_epoch >= 0),
  seen_seq bigint NOT NULL DEFAULT 0 CHECK (seen_seq >= 0),
  seen_head text NOT NULL DEFAULT repeat('0', 64) CHECK (seen_head ~ '^[0-9a-f]{64}$'),
  crossing text NOT NULL DEFAULT 'open' CHECK (crossing IN ('open', 'peer_rewound', 'resuming', 'awaiting_heads')),
  nonce text CHECK (nonce IS NOT NULL OR crossing = 'open'),
  floor_epoch bigint NOT NULL DEFAULT 0,
  floor_seq bigint NOT NULL DEFAULT 0,
  floor_head text NOT NULL DEFAULT repeat('0', 64),
  -- The next question about the heads; null where none is open.
  ask_at timestamptz CHECK ((ask_at IS NULL) = (nonce IS NULL))
);

-- The own chain for each peer: decisions and receipts, without gaps.
CREATE TABLE transfers_entry (
  peer text NOT NULL REFERENCES transfers_pair,
  epoch bigint NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  head text NOT NULL CHECK (head ~ '^[0-9a-f]{64}$'),
  entry text NOT NULL CHECK (entry IN ('commit', 'abort', 'receipt')),
  transfer_id uuid NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (peer, epoch, seq)
);

-- Transfers that leave. The signed statements of the peer are kept as they came.
CREATE TABLE transfers_sent (
  transfer_id uuid PRIMARY KEY,
  peer text NOT NULL REFERENCES transfers_pair,
  frame text NOT NULL,
  sender_did text NOT NULL CHECK (length(sender_did) <= 512),
  receiver_did text NOT NULL CHECK (length(receiver_did) <= 512),
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  memo text CHECK (length(memo) <= 256),
  state text NOT NULL CHECK (state IN ('reserved', 'committed', 'aborted', 'in_doubt')),
  expected_fee bigint NOT NULL CHECK (expected_fee >= 0),
  code text CHECK ((code IS NOT NULL) = (state = 'aborted')),
  prepared text,
  receipt text,
  backend text NOT NULL CHECK (backend IN ('2pc', 'async')),
  balance_after bigint,
  -- What the transfer was counted against, given back with an ABORT.
  is_counted boolean NOT NULL DEFAULT false,
  capability_id uuid,
  request_scope bytea,
  deadline timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  decided_at timestamptz CHECK ((decided_at IS NULL) = (state = 'reserved')),
  credited_at timestamptz,
  -- When the peer is sent what it has not answered; null once nothing is left.
  next_at timestamptz CHECK ((next_at IS NULL) = (receipt IS NOT NULL OR state = 'in_doubt')),
  tries integer NOT NULL DEFAULT 0
) WITH (fillfactor = 80);
CREATE INDEX transfers_sent_due ON transfers_sent (peer, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX transfers_sent_in_doubt ON transfers_sent (peer) WHERE state = 'in_doubt';

-- Transfers that enter, under the ids of the peer. Refused and unknown aborted ones are tombstones.
CREATE TABLE transfers_received (
  peer text NOT NULL REFERENCES transfers_pair,
  transfer_id uuid NOT NULL,
  frame text NOT NULL,
  sender_did text NOT NULL CHECK (length(sender_did) <= 512),
  receiver_did text NOT NULL CHECK (length(receiver_did) <= 512),
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  memo text CHECK (length(memo) <= 256),
  state text NOT NULL CHECK (state IN ('prepared', 'committed', 'aborted', 'refused')),
  net bigint NOT NULL CHECK (net >= 0),
  fee bigint NOT NULL CHECK (fee >= 0),
  code text,
  decision text CHECK ((decision IS NOT NULL) = (state IN ('committed', 'aborted'))),
  is_closed boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  decided_at timestamptz,
  next_at timestamptz CHECK ((next_at IS NULL) = (is_closed OR state = 'refused')),
  tries integer NOT NULL DEFAULT 0,
  PRIMARY KEY (peer, transfer_id),
  CHECK (state NOT IN ('prepared', 'committed') OR net + fee = amount)
) WITH (fillfactor = 80);
CREATE INDEX transfers_received_due ON transfers_received (peer, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX transfers_received_by_id ON transfers_received (transfer_id);
CREATE INDEX transfers_received_tombstones ON transfers_received (peer) WHERE state IN ('refused', 'aborted');
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
