-- One partition of the logs of agents for each day (UTC).

-- Create the partition of a day unless it exists; returns whether it was created. A day whose first entries are in the default
-- partition stays there. Attaching waits for readers of the default partition, so its lock timeout is short.
CREATE OR REPLACE FUNCTION operations_add_log_day(day date) RETURNS boolean LANGUAGE plpgsql
SET lock_timeout = '500ms' SET timezone = 'UTC' AS $$
DECLARE
  part text := 'operations_log_entry_' || to_char(day, 'YYYY_MM_DD');
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('operations: log days', 1));
  IF to_regclass(part) IS NOT NULL
    OR EXISTS (SELECT 1 FROM operations_log_entry_default WHERE written_at >= day AND written_at < day + 1) THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE operations_log_entry INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part);
  EXECUTE format('ALTER TABLE operations_log_entry ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part,
    day::timestamptz, (day + 1)::timestamptz);
  RETURN true;
END $$;

-- Delete the entries of before a day: partitions of earlier days are dropped. The logs are locked before their entries are counted.
CREATE OR REPLACE FUNCTION operations_forget_log_days(first date) RETURNS void LANGUAGE plpgsql
SET lock_timeout = '500ms' SET timezone = 'UTC' AS $$
DECLARE
  part text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('operations: log days', 1));
  PERFORM 1 FROM operations_log l
    WHERE EXISTS (SELECT 1 FROM operations_log_entry e WHERE e.agent_did = l.agent_did AND e.written_at < first)
    ORDER BY l.agent_did FOR UPDATE;
  UPDATE operations_log l SET entries = l.entries - gone.entries, bytes = l.bytes - gone.bytes
    FROM (
      SELECT e.agent_did, count(*) AS entries, sum(e.bytes) AS bytes FROM operations_log_entry e
      WHERE e.written_at < first GROUP BY e.agent_did
    ) gone
    WHERE gone.agent_did = l.agent_did;
  DELETE FROM operations_log_entry_default WHERE written_at < first;
  FOR part IN
    SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'operations_log_entry'::regclass
      AND inhrelid::regclass::text ~ '_[0-9]{4}_[0-9]{2}_[0-9]{2}$'
      AND right(inhrelid::regclass::text, 10) < to_char(first, 'YYYY_MM_DD')
  LOOP
    EXECUTE format('DROP TABLE %s', part);
  END LOOP;
END $$;
