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

-- The terms of transfers that have these in common.
CREATE OR REPLACE FUNCTION journal_terms_of(frame text, currency text, collector text) RETURNS smallint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  found smallint;
BEGIN
  SELECT t.id INTO found FROM journal_transfer_terms t
  WHERE (t.frame, t.currency, t.collector) = (frame, currency, collector);
  IF found IS NULL THEN
    INSERT INTO journal_transfer_terms (frame, currency, collector) VALUES (frame, currency, collector)
    ON CONFLICT DO NOTHING;
    -- A statement of its own: it must see what a rival committed.
    SELECT t.id INTO STRICT found FROM journal_transfer_terms t
    WHERE (t.frame, t.currency, t.collector) = (frame, currency, collector);
  END IF;
  RETURN found;
END $$;

-- Append the events of ledger transactions in order, as far as their policies permit. Where `datas` is null, the movement
-- is a transfer, whose events become one row (expansion.sql); the arrays behind it are of such rows alone. Raises UE001
-- where no policy says whether an event is recorded.
CREATE OR REPLACE FUNCTION journal_append_ledger(frame text, currency text, collector text, event_types text[],
  aggregate_ids text[], aggregate_types text[], datas jsonb[], keys text[], tx_ids bigint[], tx_types text[],
  payees text[], amounts bigint[], fees bigint[], freed bigint[], payer_afters bigint[], payee_afters bigint[],
  freed_afters bigint[], collector_afters bigint[], messages text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  permitted text[] := ARRAY(SELECT event_type FROM journal_emission_policy WHERE emit_from_teg);
  beside int := CASE WHEN 'TokensTransferred' = ANY (permitted) THEN 2 ELSE 0 END
    + CASE WHEN 'TransactionFeeCollected' = ANY (permitted) THEN 4 ELSE 0 END;
  span_without_fee int := 1 + ((beside >> 1) & 1);
  span_with_fee int := span_without_fee + (beside >> 2);
  drawn text := gen_random_uuid();
  terms smallint;
  -- Of each row: which events of a transfer it holds, and how many numbers the rows up to it take.
  masks int[] := '{}'; ends int[] := '{}';
  size int := cardinality(event_types); offered int := 0; needed int := 0; numbers bigint[]; undecided text[];
  -- The rows that are written next, and how many numbers those before them took.
  done int := 0; until int := size; taken int := 0;
BEGIN
  IF pg_try_advisory_xact_lock(hashtextextended('journal: notify', 1)) THEN
    PERFORM pg_notify('hansa_journal', '');
  END IF;
  IF array_position(datas, NULL) IS NOT NULL THEN
    terms := journal_terms_of(frame, currency, collector);
  END IF;
  FOR i IN 1 .. size LOOP
    IF datas[i] IS NOT NULL THEN
      masks := masks || NULL::int;
      offered := offered + 1;
      needed := needed + (event_types[i] = ANY (permitted))::int;
    ELSIF fees[i] > 0 THEN
      masks := masks || (1 | beside);
      offered := offered + 3;
      needed := needed + CASE WHEN event_types[i] = ANY (permitted) THEN span_with_fee ELSE 0 END;
    ELSE
      masks := masks || (1 | (beside & 2));
      offered := offered + 2;
      needed := needed + CASE WHEN event_types[i] = ANY (permitted) THEN span_without_fee ELSE 0 END;
    END IF;
    ends := ends || needed;
  END LOOP;
  WHILE taken < needed LOOP
    numbers := ARRAY(SELECT nextval('journal_event_seq_seq') FROM generate_series(1, ends[until] - taken));
    -- The numbers of a row follow each other: where another transaction drew one between, fewer rows are tried.
    IF numbers[cardinality(numbers)] - numbers[1] >= cardinality(numbers) THEN
      until := done + greatest(1, (until - done) / 2);
      CONTINUE;
    END IF;
    INSERT INTO journal_event (seq, id, event_type, aggregate_id, aggregate_type, data, source_service, idempotency_key,
      terms, admitted, tx_id, tx_type, payee, amount, fee, freed, payer_after, payee_after, freed_after, collector_after,
      message)
    OVERRIDING SYSTEM VALUE
    SELECT numbers[1 + coalesce(ends[e.place - 1], 0) - taken],
      (left(drawn, 28) || to_hex(x'10000000'::bigint + coalesce(ends[e.place - 1], 0)))::uuid, e.event_type,
      e.aggregate_id, e.aggregate_type, e.data, 'ledger', e.key, t.*
    FROM unnest(masks, event_types, aggregate_ids, aggregate_types, datas, keys, tx_ids, tx_types, payees, amounts, fees,
        freed, payer_afters, payee_afters, freed_afters, collector_afters, messages) WITH ORDINALITY
      AS e (mask, event_type, aggregate_id, aggregate_type, data, key, tx_id, tx_type, payee, amount, fee, freed,
        payer_after, payee_after, freed_after, collector_after, message, place)
      LEFT JOIN LATERAL (SELECT terms, e.mask, e.tx_id, e.tx_type, e.payee, e.amount, e.fee, e.freed, e.payer_after,
        e.payee_after, e.freed_after, e.collector_after, e.message WHERE e.data IS NULL) t ON true
    WHERE e.place > done AND e.place <= until AND e.event_type = ANY (permitted);
    taken := ends[until];
    done := until;
    until := size;
  END LOOP;
  IF needed < offered THEN
    undecided := journal_undecided(types, array_fill('ledger'::text, ARRAY[cardinality(types)])) FROM (
      SELECT array_agg(DISTINCT kind) AS types FROM (
        SELECT unnest(event_types) AS kind
        UNION SELECT 'TokensTransferred' WHERE terms IS NOT NULL
        UNION SELECT 'TransactionFeeCollected' FROM unnest(datas, fees) AS e (data, fee)
          WHERE e.data IS NULL AND e.fee > 0) kinds) k;
    IF undecided <> '{}' THEN
      RAISE EXCEPTION 'no emission policy says whether the events of a transaction are recorded'
        USING ERRCODE = 'UE001', DETAIL = array_to_string(undecided, ',');
    END IF;
  END IF;
END $$;
