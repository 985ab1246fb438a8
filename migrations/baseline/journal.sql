-- Journal: the event log, emission policies, counts, tickets of the live feed and positions of reactors.

-- The event log, in one partition for each month.
CREATE TABLE journal_event (
  seq bigint GENERATED ALWAYS AS IDENTITY,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  event_type text NOT NULL,
  aggregate_id text NOT NULL,
  aggregate_type text NOT NULL,
  data jsonb,
  metadata jsonb NOT NULL DEFAULT '{}',
  recorded_at timestamptz NOT NULL DEFAULT now(),
  version int NOT NULL DEFAULT 1,
  source_service text NOT NULL,
  idempotency_key text,
  -- Sequence numbers commit out of order. A reader that follows the journal reads by (xid, seq) and stops before the oldest open
  -- transaction.
  xid bigint NOT NULL DEFAULT plumbing_position(),
  -- A row without `data` is a LedgerBalanceChanged and, according to the bits of `admitted`, the TokensTransferred (2) and the
  -- TransactionFeeCollected (4) of the same transaction, with the sequence numbers that follow. Amounts are minor units; `freed` is the
  -- part that a capture returns to its payer.
  terms smallint,
  admitted smallint,
  tx_id bigint,
  tx_type text,
  payee text,
  amount bigint,
  fee bigint,
  freed bigint,
  payer_after bigint,
  payee_after bigint,
  freed_after bigint,
  collector_after bigint,
  message text,
  PRIMARY KEY (seq, recorded_at),
  CONSTRAINT journal_event_form CHECK (CASE WHEN data IS NULL THEN event_type = 'LedgerBalanceChanged' AND admitted & 1 = 1
    AND terms IS NOT NULL AND num_nulls(tx_id, tx_type, payee, amount, fee, payer_after, payee_after) = 0
    AND (fee > 0) = (collector_after IS NOT NULL) AND (freed IS NULL) = (freed_after IS NULL) ELSE admitted IS NULL AND tx_id IS NULL END)
) PARTITION BY RANGE (recorded_at);
-- The events of a transfer are found by its key: entries here would make the most frequent statement slower.
CREATE INDEX journal_event_aggregate ON journal_event (aggregate_id, xid, seq)
  WHERE event_type NOT IN ('LedgerBalanceChanged', 'TokensTransferred', 'TransactionFeeCollected');
CREATE INDEX journal_event_kind ON journal_event (event_type, xid, seq)
  WHERE event_type NOT IN ('LedgerBalanceChanged', 'TokensTransferred', 'TransactionFeeCollected');
-- Order of followers. A block-range index lacks the newest blocks until a vacuum has summarized them, and a follower reads those.
CREATE INDEX journal_event_position ON journal_event (xid, seq);

-- Events that may be recorded. A null decides nothing: the side of the ledger then refuses, the side of the registry follows the row '*',
-- which is written at every start.
CREATE TABLE journal_emission_policy (
  event_type text PRIMARY KEY CHECK (length(event_type) BETWEEN 1 AND 80),
  emit_from_teg boolean,
  emit_from_registry boolean,
  skip_in_projection boolean NOT NULL DEFAULT false,
  updated_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO journal_emission_policy (event_type, emit_from_teg, emit_from_registry, skip_in_projection) VALUES
  ('*', NULL, true, false),
  ('LedgerBalanceChanged', true, false, false),
  ('TokensIssued', true, false, true),
  ('TokensDestroyed', true, false, true),
  ('TokensTransferred', true, false, true),
  ('TransactionFeeCollected', true, false, true),
  ('TokensStaked', true, false, true),
  ('TokensUnstaked', true, false, true),
  ('RewardsDistributed', true, false, true),
  ('RewardsAutoCompounded', true, false, true),
  ('BalanceCorrected', true, false, true),
  ('AgentOnboarded', NULL, true, true),
  ('EventEmissionPolicyUpdated', NULL, true, true),
  ('ProjectionSnapshot', NULL, true, false);

-- Number of events of each type in transactions before `before_xid`.
CREATE TABLE journal_count (
  event_type text PRIMARY KEY,
  events bigint NOT NULL CHECK (events > 0)
);

-- Transaction before which events are counted in journal_count.
CREATE TABLE journal_counted (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  before_xid bigint NOT NULL
);
INSERT INTO journal_counted (before_xid) VALUES (0);

-- Tickets that open the live feed for half a minute; a crash may lose them.
CREATE UNLOGGED TABLE journal_feed_ticket (
  ticket_sha256 bytea PRIMARY KEY CHECK (octet_length(ticket_sha256) = 32),
  kind text NOT NULL CHECK (kind IN ('developer', 'agent')),
  subject text NOT NULL,
  session text NOT NULL,
  -- End of the token with which the ticket was requested.
  bearer_until timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);

-- Position of each reactor: behind the event (xid, seq). The row is also its lease.
CREATE TABLE journal_reactor (
  name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 80),
  xid bigint NOT NULL,
  seq bigint NOT NULL
);

-- Events that a reactor gave up on.
CREATE TABLE journal_reactor_set_aside (
  reactor text NOT NULL,
  xid bigint NOT NULL,
  seq bigint NOT NULL,
  event_type text NOT NULL,
  failures int NOT NULL,
  error text NOT NULL,
  set_aside_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (reactor, xid, seq)
);

-- System account under which facts about the registry itself are filed; written at every start.
CREATE TABLE journal_registry (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  did text NOT NULL CHECK (length(did) BETWEEN 10 AND 512)
);
INSERT INTO journal_registry (did) VALUES ('did:hansa:system:registry');

-- Members that the events of many transfers have in common. A row never changes.
CREATE TABLE journal_transfer_terms (
  id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  frame text NOT NULL,
  currency text NOT NULL,
  collector text NOT NULL,
  UNIQUE (frame, currency, collector)
);

-- Payments of a day (UTC) by the time of their events; amount in minor units, without fees.
CREATE TABLE journal_volume (
  day date PRIMARY KEY,
  payments bigint NOT NULL CHECK (payments > 0),
  amount numeric NOT NULL CHECK (amount >= 0)
);

-- Transaction before which all payments are in journal_volume. A transaction that adds to it locks the row.
CREATE TABLE journal_volume_counted (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  before_xid bigint NOT NULL DEFAULT 0
);
INSERT INTO journal_volume_counted DEFAULT VALUES;

-- Functions of the partitions. A restore calls them before SQL files are applied; sql/ of the journal replaces them at each start.

CREATE FUNCTION journal_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'the journal is append-only: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

-- Give a partition what it does not inherit: the unique indexes on the key and on the transaction of a transfer, and the refusal of
-- changes that name the partition itself.
CREATE FUNCTION journal_furnish(part text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE UNIQUE INDEX %I ON %I (idempotency_key) WHERE idempotency_key IS NOT NULL',
    part || '_key', part);
  EXECUTE format('CREATE UNIQUE INDEX %I ON %I (tx_id) WHERE tx_id IS NOT NULL', part || '_tx', part);
  EXECUTE format('CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %I'
    ' FOR EACH STATEMENT EXECUTE FUNCTION journal_refuse_change()', part);
END $$;

-- Create the partition of a month unless it exists; returns whether it was created. A month whose first events are in the default
-- partition stays there. Attaching waits for readers of the default partition, so its lock timeout is short.
CREATE FUNCTION journal_add_month(moment timestamptz) RETURNS boolean LANGUAGE plpgsql
SET lock_timeout = '500ms' SET timezone = 'UTC' AS $$
DECLARE
  first timestamptz := date_trunc('month', moment);
  past timestamptz := first + interval '1 month';
  part text := 'journal_event_' || to_char(first, 'YYYY_MM');
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('journal: partitions', 1));
  IF to_regclass(part) IS NOT NULL
    OR EXISTS (SELECT 1 FROM journal_event_default WHERE recorded_at >= first AND recorded_at < past) THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE journal_event INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part);
  PERFORM journal_furnish(part);
  EXECUTE format('ALTER TABLE journal_event ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, first, past);
  RETURN true;
END $$;

-- Partitions: one for rows of months without a partition, this month and the next two.
CREATE TABLE journal_event_default PARTITION OF journal_event DEFAULT;
SELECT journal_furnish('journal_event_default');
SELECT journal_add_month(date_trunc('month', now(), 'UTC') + n * interval '1 month') FROM generate_series(0, 2) n;
