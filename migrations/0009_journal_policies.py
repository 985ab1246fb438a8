"""Journal: partitions by month, emission policies, counts."""

from alembic import op

revision = "0009"
down_revision = "0008"

SQL = """
ALTER TABLE journal_event RENAME TO journal_event_whole;
ALTER TABLE journal_event_whole RENAME CONSTRAINT journal_event_pkey TO journal_event_whole_pkey;
ALTER SEQUENCE journal_event_seq_seq RENAME TO journal_event_whole_seq_seq;
DROP INDEX journal_event_xid;

CREATE TABLE journal_event (
  seq bigint GENERATED ALWAYS AS IDENTITY,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  event_type text NOT NULL,
  aggregate_id text NOT NULL,
  aggregate_type text NOT NULL,
  data jsonb NOT NULL,
  metadata jsonb NOT NULL DEFAULT '{}',
  recorded_at timestamptz NOT NULL DEFAULT now(),
  version int NOT NULL DEFAULT 1,
  source_service text NOT NULL,
  idempotency_key text,
  -- Sequence numbers commit out of order. A reader that follows the journal goes by (xid, seq) and stops before the
  -- oldest open transaction.
  xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  PRIMARY KEY (seq, recorded_at)
) PARTITION BY RANGE (recorded_at);
CREATE INDEX journal_event_xid ON journal_event USING brin (xid);
-- The events of a transfer are reached by its key: they would pay for these two in the hottest statement there is.
CREATE INDEX journal_event_aggregate ON journal_event (aggregate_id, xid, seq)
  WHERE event_type NOT IN ('LedgerBalanceChanged', 'TokensTransferred', 'TransactionFeeCollected');
CREATE INDEX journal_event_kind ON journal_event (event_type, xid, seq)
  WHERE event_type NOT IN ('LedgerBalanceChanged', 'TokensTransferred', 'TransactionFeeCollected');
CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON journal_event
  FOR EACH STATEMENT EXECUTE FUNCTION journal_refuse_change();

-- What a partition needs beside what it has from the whole: one event for each key, and the refusal of changes to
-- whoever names the partition itself.
CREATE FUNCTION journal_furnish(part text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE UNIQUE INDEX %%I ON %%I (idempotency_key) WHERE idempotency_key IS NOT NULL',
    part || '_key', part);
  EXECUTE format('CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %%I'
    ' FOR EACH STATEMENT EXECUTE FUNCTION journal_refuse_change()', part);
END $$;

-- Makes the partition of a month unless it is there; returns whether it made one. A month whose first events fell
-- into the default partition stays there. Attaching waits for readers of the default partition, hence not for long.
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
  EXECUTE format('CREATE TABLE %%I (LIKE journal_event INCLUDING DEFAULTS)', part);
  PERFORM journal_furnish(part);
  EXECUTE format('ALTER TABLE journal_event ATTACH PARTITION %%I FOR VALUES FROM (%%L) TO (%%L)', part, first, past);
  RETURN true;
END $$;

CREATE TABLE journal_event_default PARTITION OF journal_event DEFAULT;
SELECT journal_furnish('journal_event_default');
SELECT journal_add_month(month) FROM (
  SELECT DISTINCT date_trunc('month', recorded_at, 'UTC') AS month FROM journal_event_whole
  UNION SELECT date_trunc('month', now(), 'UTC') + n * interval '1 month' FROM generate_series(0, 2) n
) months ORDER BY month;

INSERT INTO journal_event (seq, id, event_type, aggregate_id, aggregate_type, data, metadata, recorded_at, version,
  source_service, idempotency_key, xid)
OVERRIDING SYSTEM VALUE
SELECT seq, id, event_type, aggregate_id, aggregate_type, data, metadata, recorded_at, version,
  source_service, idempotency_key, xid
FROM journal_event_whole ORDER BY seq;
SELECT setval(pg_get_serial_sequence('journal_event', 'seq'), last_value, is_called)
  FROM journal_event_whole_seq_seq;
DROP TABLE journal_event_whole;

-- Which events may be recorded. A null says nothing: the ledger's side then refuses, the registry's side follows the
-- row '*', which is written at every start.
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

-- How many events of each type there are among those of transactions before `before_xid`.
CREATE TABLE journal_count (event_type text PRIMARY KEY, events bigint NOT NULL CHECK (events > 0));
CREATE TABLE journal_counted (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  before_xid bigint NOT NULL
);
INSERT INTO journal_counted (before_xid) VALUES (0);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
