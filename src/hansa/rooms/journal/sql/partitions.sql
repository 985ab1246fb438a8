-- One partition of the journal for each month.
-- after: journal/append_only.sql

-- Give a partition what it does not inherit: the unique indexes on the key and on the transaction of a transfer, and the
-- refusal of changes that name the partition itself.
CREATE OR REPLACE FUNCTION journal_furnish(part text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE UNIQUE INDEX %I ON %I (idempotency_key) WHERE idempotency_key IS NOT NULL',
    part || '_key', part);
  EXECUTE format('CREATE UNIQUE INDEX %I ON %I (tx_id) WHERE tx_id IS NOT NULL', part || '_tx', part);
  EXECUTE format('CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %I'
    ' FOR EACH STATEMENT EXECUTE FUNCTION journal_refuse_change()', part);
END $$;

-- Create the partition of a month unless it exists; returns whether it was created. A month whose first events are in
-- the default partition stays there. Attaching waits for readers of the default partition, so its lock timeout is short.
CREATE OR REPLACE FUNCTION journal_add_month(moment timestamptz) RETURNS boolean LANGUAGE plpgsql
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
