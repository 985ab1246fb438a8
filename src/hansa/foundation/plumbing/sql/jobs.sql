-- Background jobs, enqueued by statements of any room.

-- Add jobs of a kind, or move those of the same keys forward; returns their ids. The arrays have one element for each job;
-- a null due time is now. A waiting job keeps its payload and the earlier of both times; one under way runs again; a dead
-- one waits again. Workers look every 5 seconds without a notification.
CREATE OR REPLACE FUNCTION plumbing_enqueue(job_kind text, job_payload jsonb, job_keys text[], due_times timestamptz[],
  exclusions text[], are_low boolean[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  ids bigint[];
BEGIN
  WITH enqueued AS (
    INSERT INTO plumbing_job AS j (kind, key, payload, due_at, concurrency_key, low_priority)
    SELECT job_kind, n.key, job_payload, coalesce(n.due_at, now()), n.exclusion, n.is_low
    FROM unnest(job_keys, due_times, exclusions, are_low) AS n (key, due_at, exclusion, is_low) ORDER BY n.key
    ON CONFLICT (kind, key) DO UPDATE SET
      state = 'waiting', dead_at = NULL,
      attempts = CASE j.state WHEN 'dead' THEN 0 ELSE j.attempts END,
      payload = CASE j.state WHEN 'dead' THEN excluded.payload ELSE j.payload END,
      concurrency_key = CASE WHEN j.lease_until IS NULL THEN excluded.concurrency_key ELSE j.concurrency_key END,
      low_priority = excluded.low_priority,
      due_at = CASE WHEN j.state = 'dead' THEN excluded.due_at
        WHEN j.lease_until IS NULL THEN least(j.due_at, excluded.due_at) ELSE j.due_at END,
      due_again_at = CASE WHEN j.lease_until IS NOT NULL THEN least(j.due_again_at, excluded.due_at) END
    RETURNING id
  ) SELECT array_agg(id) INTO ids FROM enqueued;
  IF EXISTS (SELECT FROM unnest(due_times) AS due (at) WHERE coalesce(due.at, now()) < now() + interval '30 seconds') THEN
    PERFORM pg_notify('hansa_jobs', '');
  END IF;
  RETURN ids;
END $$;
