-- Transfers: crossings to and from other registries, pools that swap currencies, the bridge of wrapped units.

-- State of transfers with each other registry: the own chain, the last seen entry of the other chain, and whether units cross. Signatures
-- do not compress: with a lower target each write of a row would try.
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
  -- Next query for the heads; null where none is open.
  ask_at timestamptz CHECK ((ask_at IS NULL) = (nonce IS NULL)),
  -- Entry up to which statements of the own chain were dropped; from the start again when the peer or this registry was restored. In place
  -- of a dropped receipt, transfers_sent.receipt holds an empty text.
  dropped_epoch bigint NOT NULL DEFAULT 0,
  dropped_seq bigint NOT NULL DEFAULT 0,
  -- Statement of the peer that bears the last seen entry of its chain.
  shown text CHECK (length(shown) <= 11000)
) WITH (toast_tuple_target = 8160);

-- Own chain for each peer: decisions and receipts, without gaps.
CREATE TABLE transfers_entry (
  peer text NOT NULL REFERENCES transfers_pair,
  epoch bigint NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  head text NOT NULL CHECK (head ~ '^[0-9a-f]{64}$'),
  entry text NOT NULL CHECK (entry IN ('commit', 'abort', 'receipt', 'saga_decided', 'saga_ended', 'slash_settled')),
  transfer_id uuid NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (peer, epoch, seq)
);

-- Transfers that leave. Signed statements of the peer are stored as received. A statement bears the signed statement that it relies on, so
-- that a row reaches 5 kB. Signatures do not compress: with a lower target each write of a row would try, and move the statements to a
-- second table.
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
  -- Limits against which the transfer was counted, given back with an ABORT.
  is_counted boolean NOT NULL DEFAULT false,
  capability_id uuid,
  request_scope bytea,
  deadline timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  decided_at timestamptz CHECK ((decided_at IS NULL) = (state = 'reserved')),
  credited_at timestamptz,
  -- Time at which the peer is sent its unanswered message again; null once nothing is left.
  next_at timestamptz CHECK ((next_at IS NULL) = (receipt IS NOT NULL OR state = 'in_doubt')),
  tries integer NOT NULL DEFAULT 0,
  -- Members of a swap. `amount_out` is fixed by the home of the pool, or else by the receiver's registry.
  currency_received text,
  min_amount_out bigint CHECK (min_amount_out > 0),
  amount_out bigint CHECK (amount_out >= min_amount_out),
  quote_id uuid,
  purpose text CHECK (purpose ~ '^[a-z_]{1,32}$'),
  -- Entry of the receipt in the chain of the peer.
  receipt_epoch bigint,
  receipt_seq bigint,
  CONSTRAINT transfers_sent_swap CHECK ((currency_received IS NOT NULL) = (min_amount_out IS NOT NULL)),
  CONSTRAINT transfers_sent_receipt_place CHECK ((receipt_epoch IS NULL) = (receipt_seq IS NULL))
) WITH (fillfactor = 80, toast_tuple_target = 8160);
CREATE INDEX transfers_sent_due ON transfers_sent (peer, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX transfers_sent_in_doubt ON transfers_sent (peer) WHERE state = 'in_doubt';
-- Transfers that peers named and this registry did not know, counted for each peer.
CREATE INDEX transfers_sent_tombstones ON transfers_sent (peer) WHERE state = 'aborted' AND code = 'UNKNOWN';
-- A quote is spent once; an aborted swap frees it.
CREATE UNIQUE INDEX transfers_sent_quote ON transfers_sent (quote_id) WHERE quote_id IS NOT NULL AND state <> 'aborted';
CREATE INDEX transfers_sent_confirmed ON transfers_sent (peer, receipt_epoch, receipt_seq) WHERE receipt_epoch IS NOT NULL;

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
  currency_received text,
  min_amount_out bigint CHECK (min_amount_out > 0),
  amount_out bigint CHECK (amount_out >= min_amount_out),
  quote_id uuid,
  purpose text CHECK (purpose ~ '^[a-z_]{1,32}$'),
  -- Entry of the receipt in the own chain; null in rows that are older than these columns.
  entry_epoch bigint,
  entry_seq bigint,
  PRIMARY KEY (peer, transfer_id),
  CONSTRAINT transfers_received_swap CHECK ((currency_received IS NOT NULL) = (min_amount_out IS NOT NULL)),
  CONSTRAINT transfers_received_net CHECK (state NOT IN ('prepared', 'committed') OR CASE WHEN min_amount_out IS NULL
    THEN net + fee = amount ELSE net >= min_amount_out END),
  CONSTRAINT transfers_received_entry CHECK ((entry_epoch IS NULL) = (entry_seq IS NULL))
) WITH (fillfactor = 80, toast_tuple_target = 8160);
CREATE INDEX transfers_received_due ON transfers_received (peer, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX transfers_received_by_id ON transfers_received (transfer_id);
CREATE INDEX transfers_received_tombstones ON transfers_received (peer) WHERE state IN ('refused', 'aborted');

-- One pool for each other registry, as this one sees it. The home prices; the other side follows it. Amounts are minor units: `_own` of
-- this registry's currency, `_foreign` of the other's. Pending swaps add `in_` and take `out_`.
CREATE TABLE transfers_pool (
  peer text PRIMARY KEY CHECK (starts_with(peer, 'spiffe://')),
  frame text NOT NULL,
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{2,8}$'),
  is_home boolean NOT NULL,
  mode text NOT NULL CHECK (mode IN ('pool', 'fixed')),
  -- Units of the other currency for one unit of that of the home.
  rate numeric(38, 18) CHECK (rate <> 'NaN' AND rate > 0),
  -- First funding that the side which is not the home proposes; null once it is paid.
  proposed bigint CHECK (proposed > 0),
  reserve_own bigint NOT NULL DEFAULT 0 CHECK (reserve_own >= 0),
  -- Copy of the reserve in the ledger of the other registry; may be behind it.
  reserve_foreign bigint NOT NULL DEFAULT 0,
  in_own bigint NOT NULL DEFAULT 0 CHECK (in_own >= 0),
  out_own bigint NOT NULL DEFAULT 0 CHECK (out_own >= 0),
  in_foreign bigint NOT NULL DEFAULT 0 CHECK (in_foreign >= 0),
  out_foreign bigint NOT NULL DEFAULT 0 CHECK (out_foreign >= 0),
  opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Reserves after the last act of an administrator: the breaker compares with no price before it.
  base_own bigint NOT NULL DEFAULT 0,
  base_foreign bigint NOT NULL DEFAULT 0,
  base_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The reserve of this registry pays everything that it has promised.
  CHECK (out_own <= reserve_own)
) WITH (fillfactor = 50);

-- Reserves before the first change of each minute, and the fees of the swaps of the minute.
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

-- Acts of administrators on pools here, until the other registry has applied them.
CREATE TABLE transfers_pool_act (
  act_id uuid PRIMARY KEY,
  peer text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('propose', 'fund', 'drain', 'terms', 'close')),
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX transfers_pool_act_of_peer ON transfers_pool_act (peer, created_at);

-- Applied acts of other registries.
CREATE TABLE transfers_pool_heard (
  peer text NOT NULL,
  act_id uuid NOT NULL,
  heard_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (peer, act_id)
);

-- Quotes of swaps.
CREATE TABLE transfers_quote (
  quote_id uuid PRIMARY KEY,
  agent_did text NOT NULL CHECK (length(agent_did) <= 512),
  peer text NOT NULL,
  amount_in bigint NOT NULL CHECK (amount_in > 0),
  amount_out bigint NOT NULL CHECK (amount_out > 0),
  expires_at timestamptz NOT NULL
);
CREATE INDEX transfers_quote_expiry ON transfers_quote (expires_at);

-- Sagas that agents of this registry began: `wrap` locks own units, `redeem` sets wrapped ones aside.
CREATE TABLE transfers_bridge_saga (
  saga_id uuid PRIMARY KEY,
  direction text NOT NULL CHECK (direction IN ('wrap', 'redeem')),
  peer text NOT NULL CHECK (starts_with(peer, 'spiffe://')),
  frame text NOT NULL,
  sender_did text NOT NULL CHECK (length(sender_did) <= 512),
  receiver_did text NOT NULL CHECK (length(receiver_did) <= 512),
  amount bigint NOT NULL CHECK (amount > 0),
  -- Locked unit, without the name of its registry.
  currency text NOT NULL,
  state text NOT NULL CHECK (state IN ('LOCKED', 'MINT_REQUESTED', 'BURNED', 'UNLOCK_REQUESTED', 'TIMED_OUT', 'COMPLETED', 'REFUNDED',
    'FAILED', 'IN_DOUBT')),
  code text CHECK ((code IS NOT NULL) = (state IN ('REFUNDED', 'FAILED'))),
  -- Signed statement of the other registry about the outcome, as received.
  answer text,
  history jsonb NOT NULL,
  hold_id bigint,
  is_counted boolean NOT NULL DEFAULT false,
  capability_id uuid,
  request_scope bytea,
  deadline timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Time at which the other registry is queried again; null once the outcome is known.
  next_at timestamptz,
  tries integer NOT NULL DEFAULT 0,
  CONSTRAINT transfers_bridge_saga_due CHECK (next_at IS NOT NULL OR state IN ('COMPLETED', 'REFUNDED', 'FAILED', 'IN_DOUBT')),
  CONSTRAINT transfers_bridge_saga_answered CHECK (CASE WHEN state IN ('COMPLETED', 'REFUNDED', 'FAILED') THEN answer IS NOT NULL
    OR coalesce(code, '') = 'PEER_ABANDONED' ELSE answer IS NULL END),
  -- A saga that was in doubt has no hold.
  CONSTRAINT transfers_bridge_saga_held CHECK (CASE WHEN direction = 'redeem' THEN hold_id IS NULL ELSE hold_id IS NOT NULL
    OR state IN ('COMPLETED', 'IN_DOUBT') OR coalesce(code, '') = 'PEER_ABANDONED' END)
) WITH (fillfactor = 80);
CREATE INDEX transfers_bridge_saga_due ON transfers_bridge_saga (peer, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX transfers_bridge_saga_in_doubt ON transfers_bridge_saga (peer) WHERE state = 'IN_DOUBT';

-- Final decisions of this registry on sagas of peers: a refusal or a cancellation is a tombstone against a late request.
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
  -- Request with the signature of the peer, which proves the lock of a wrapped amount.
  request text NOT NULL,
  decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Time at which the source is sent the decision again; null once it confirmed it. A decision is in doubt when it was cancelled before a
  -- restore and unlocked after it, and nobody has the units that are to be locked again.
  next_at timestamptz,
  tries integer NOT NULL DEFAULT 0,
  is_in_doubt boolean NOT NULL DEFAULT false CHECK (NOT is_in_doubt OR is_done),
  PRIMARY KEY (peer, saga_id)
);
CREATE INDEX transfers_bridge_decision_by_id ON transfers_bridge_decision (saga_id);
CREATE INDEX transfers_bridge_decision_tombstones ON transfers_bridge_decision (peer) WHERE NOT is_done;
CREATE INDEX transfers_bridge_decision_due ON transfers_bridge_decision (peer, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX transfers_bridge_decision_in_doubt ON transfers_bridge_decision (peer) WHERE is_in_doubt;

-- Units of other registries that are held here. `burning` is set aside by redemptions that are not decided yet.
CREATE TABLE transfers_wrapped (
  wrapped_currency text PRIMARY KEY CHECK (length(wrapped_currency) <= 270),
  peer text NOT NULL,
  wrapped bigint NOT NULL DEFAULT 0,
  burning bigint NOT NULL DEFAULT 0,
  -- Sum of the locks that the home of the unit has signed and not released.
  locked_proved bigint NOT NULL DEFAULT 0,
  CONSTRAINT transfers_wrapped_is_locked CHECK (wrapped <= locked_proved),
  CONSTRAINT transfers_wrapped_burning CHECK (0 <= burning AND burning <= wrapped)
);

-- Wrapped units of each agent.
CREATE TABLE transfers_wrapped_balance (
  wrapped_currency text NOT NULL REFERENCES transfers_wrapped,
  did text NOT NULL CHECK (length(did) <= 512),
  balance bigint NOT NULL CHECK (balance >= 0),
  PRIMARY KEY (wrapped_currency, did)
);
CREATE INDEX transfers_wrapped_balance_of ON transfers_wrapped_balance (did);

-- Changes of balances of wrapped units, each once.
CREATE TABLE transfers_wrapped_posting (
  peer text NOT NULL,
  saga_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('mint', 'burn', 'return', 'take_back')),
  wrapped_currency text NOT NULL,
  did text NOT NULL,
  delta bigint NOT NULL,
  balance_after bigint NOT NULL CHECK (balance_after >= 0),
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  turn integer NOT NULL DEFAULT 0,
  PRIMARY KEY (peer, saga_id, kind, turn),
  FOREIGN KEY (wrapped_currency, did) REFERENCES transfers_wrapped_balance,
  CONSTRAINT transfers_wrapped_posting_sign CHECK ((delta < 0) = (kind IN ('burn', 'take_back')))
);
CREATE INDEX transfers_wrapped_posting_of ON transfers_wrapped_posting (wrapped_currency, did);

-- Own units that are locked for each agent of another registry that holds them wrapped: no agent redeems more.
CREATE TABLE transfers_locked (
  peer text NOT NULL,
  holder_did text NOT NULL CHECK (length(holder_did) <= 512),
  locked bigint NOT NULL CONSTRAINT transfers_locked_is_covered CHECK (locked >= 0),
  PRIMARY KEY (peer, holder_did)
);

-- Fees of a peer's payments that are evidence, by UTC day.
CREATE TABLE transfers_counted_fee (
  peer text NOT NULL,
  day date NOT NULL,
  fee bigint NOT NULL CHECK (fee >= 0),
  PRIMARY KEY (peer, day)
);

-- Totals of the swaps of agents here (`out`) and there (`in`) with each peer, in the own currency and in that of the peer.
CREATE TABLE transfers_swapped (
  peer text NOT NULL,
  frame text NOT NULL,
  currency text NOT NULL,
  own_out numeric(38) NOT NULL CHECK (own_out >= 0),
  foreign_out numeric(38) NOT NULL CHECK (foreign_out >= 0),
  own_in numeric(38) NOT NULL CHECK (own_in >= 0),
  foreign_in numeric(38) NOT NULL CHECK (foreign_in >= 0),
  PRIMARY KEY (peer, currency)
);
