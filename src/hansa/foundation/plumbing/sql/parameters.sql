-- Settings that governance has changed.
--
-- An advisory lock, exclusive for a change and shared for a reader, orders them: a change takes effect at the earliest one lead after
-- its lock, so what a reader finds is complete for nearly one lead after its own.

-- Least time from the decision on a change to its effect; processes know each change before it takes effect.
CREATE OR REPLACE FUNCTION plumbing_parameter_lead() RETURNS interval LANGUAGE sql STABLE AS $$
  SELECT interval '1 minute'
$$;

-- The changes that are in force at a moment, one for each setting; a null value is that of the environment.
CREATE OR REPLACE FUNCTION plumbing_parameters_at(at timestamptz) RETURNS TABLE (name text, value jsonb)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('plumbing: parameters', 1));
  -- A statement of its own after the lock: it must see the change that it waited for.
  RETURN QUERY SELECT found.name, found.value FROM (
    SELECT DISTINCT ON (p.name) p.name, p.new AS value FROM plumbing_parameter p
    WHERE p.withdrawn_at IS NULL AND p.effective_at <= at ORDER BY p.name, p.effective_at DESC, p.id DESC
  ) found WHERE found.value IS NOT NULL;
END $$;

-- Every change but those that another one followed more than a day ago, by moment: enough for each transaction that is open.
CREATE OR REPLACE FUNCTION plumbing_parameter_changes() RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('plumbing: parameters', 1));
  RETURN (
    SELECT coalesce(jsonb_agg(jsonb_build_object('name', p.name, 'value', p.new, 'at', p.effective_at)
      ORDER BY p.effective_at, p.id), '[]')
    FROM plumbing_parameter p
    WHERE p.withdrawn_at IS NULL AND NOT EXISTS (
      SELECT FROM plumbing_parameter later
      WHERE later.name = p.name AND later.withdrawn_at IS NULL AND later.effective_at < now() - interval '1 day'
        AND (later.effective_at, later.id) > (p.effective_at, p.id)));
END $$;

-- Knowledge of a process: the changes, the moment before which no other can take effect, and the lead.
CREATE OR REPLACE FUNCTION plumbing_parameters_known(OUT until timestamptz, OUT lead interval, OUT changes jsonb)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  lead := plumbing_parameter_lead();
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('plumbing: parameters', 1));
  -- A tenth less: after a failover another host has another clock.
  until := clock_timestamp() + lead * 0.9;
  changes := plumbing_parameter_changes();
END $$;

-- now() of the transaction; and the changes, unless those are complete that are known before a moment.
CREATE OR REPLACE FUNCTION plumbing_parameters_unless_known(known_until timestamptz, OUT began_at timestamptz, OUT changes jsonb)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  began_at := now();
  IF began_at >= known_until THEN
    changes := plumbing_parameter_changes();
  END IF;
END $$;
