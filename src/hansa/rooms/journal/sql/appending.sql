-- Appending events to the journal, filtered by the emission policies.

-- Append the events that their policies permit, in order; returns how many were appended. Transactions that notify
-- commit one after another. Of several open transactions only one notifies, so that the others still commit together;
-- readers that follow the journal also poll while transactions are open.
CREATE OR REPLACE FUNCTION journal_append(event_types text[], aggregate_ids text[], aggregate_types text[], datas jsonb[],
  sources text[], keys text[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  recorded bigint;
  -- Drawn once: the ids of these events differ in their last eight digits.
  drawn text := gen_random_uuid();
BEGIN
  IF pg_try_advisory_xact_lock(hashtextextended('journal: notify', 1)) THEN
    PERFORM pg_notify('hansa_journal', '');
  END IF;
  INSERT INTO journal_event (id, event_type, aggregate_id, aggregate_type, data, source_service, idempotency_key)
  SELECT (left(drawn, 28) || to_hex(x'10000000'::bigint + e.place))::uuid, e.event_type, e.aggregate_id,
    e.aggregate_type, e.data, e.source_service, e.idempotency_key
  FROM unnest(event_types, aggregate_ids, aggregate_types, datas, sources, keys) WITH ORDINALITY
    AS e (event_type, aggregate_id, aggregate_type, data, source_service, idempotency_key, place)
  WHERE CASE e.source_service
    WHEN 'ledger' THEN e.event_type = ANY (ARRAY(
      SELECT event_type FROM journal_emission_policy WHERE emit_from_teg))
    ELSE e.event_type = ANY (ARRAY(
      SELECT event_type FROM journal_emission_policy WHERE emit_from_registry))
      OR (SELECT emit_from_registry FROM journal_emission_policy WHERE event_type = '*')
        AND e.event_type <> ALL (ARRAY(
          SELECT event_type FROM journal_emission_policy WHERE emit_from_registry IS FALSE))
    END;
  GET DIAGNOSTICS recorded = ROW_COUNT;
  RETURN recorded;
END $$;

-- Of these event types, those for which no policy says whether they are recorded.
CREATE OR REPLACE FUNCTION journal_undecided(event_types text[], sources text[]) RETURNS text[]
LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(DISTINCT e.event_type), '{}')
  FROM unnest(event_types, sources) AS e (event_type, source_service)
  LEFT JOIN journal_emission_policy p USING (event_type)
  WHERE CASE e.source_service
    WHEN 'ledger' THEN p.emit_from_teg
    ELSE coalesce(p.emit_from_registry,
      (SELECT nullif(emit_from_registry, false) FROM journal_emission_policy WHERE event_type = '*'))
    END IS NULL
$$;

-- Append events as `journal_append` does. Raises UE001 where no policy says whether one of them is recorded.
CREATE OR REPLACE FUNCTION journal_append_decided(event_types text[], aggregate_ids text[], aggregate_types text[],
  datas jsonb[], sources text[], keys text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  undecided text[];
BEGIN
  IF journal_append(event_types, aggregate_ids, aggregate_types, datas, sources, keys) < cardinality(event_types) THEN
    undecided := journal_undecided(event_types, sources);
    IF undecided <> '{}' THEN
      RAISE EXCEPTION 'no emission policy says whether the events of a transaction are recorded'
        USING ERRCODE = 'UE001', DETAIL = array_to_string(undecided, ',');
    END IF;
  END IF;
END $$;
