-- Appending events to the journal, filtered by the emission policies.

-- The id of the event with this number: 28 characters of a random UUID, and eight digits from the last 28 bits of the number, by which the event
-- is found (decision 0250).
CREATE OR REPLACE FUNCTION journal_event_id(drawn text, seq bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT (left(drawn, 28) || to_hex(x'10000000'::bigint + (seq & x'0fffffff'::bigint)))::uuid
$$;

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
  INSERT INTO journal_event (seq, id, event_type, aggregate_id, aggregate_type, data, source_service, idempotency_key)
  OVERRIDING SYSTEM VALUE
  SELECT e.seq, journal_event_id(drawn, e.seq), e.event_type, e.aggregate_id, e.aggregate_type, e.data, e.source_service,
    e.idempotency_key
  FROM (
    SELECT nextval('journal_event_seq_seq') AS seq, u.*
    FROM unnest(event_types, aggregate_ids, aggregate_types, datas, sources, keys)
      AS u (event_type, aggregate_id, aggregate_type, data, source_service, idempotency_key)
    WHERE CASE u.source_service
      WHEN 'ledger' THEN u.event_type = ANY (ARRAY(
        SELECT event_type FROM journal_emission_policy WHERE emit_from_teg))
      ELSE u.event_type = ANY (ARRAY(
        SELECT event_type FROM journal_emission_policy WHERE emit_from_registry))
        OR (SELECT emit_from_registry FROM journal_emission_policy WHERE event_type = '*')
          AND u.event_type <> ALL (ARRAY(
            SELECT event_type FROM journal_emission_policy WHERE emit_from_registry IS FALSE))
      END
  ) e;
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

-- Append the events of ledger transactions in order, as far as their policies permit. `orders` says which element of the
-- arrays from `payers` to `messages` belongs to a transaction, `firsts` where its balances begin: the payer's, the payee's,
-- what was freed, the fee collector's, the latter counted from `collector_before`. The arrays behind are null where all
-- transactions are plain transfers. Where `datas` has a null, the movement is a transfer, whose events become one row
-- (expansion.sql) without a key of its own. Raises UE001 where no policy says whether an event is recorded.
CREATE OR REPLACE FUNCTION journal_append_movements(frame text, currency text, collector text, tx_ids bigint[], orders int[],
  payers text[], payees text[], amounts bigint[], fees bigint[], messages text[], firsts int[], balances bigint[],
  collector_before bigint, tx_types text[], memos text[], datas jsonb[], freed bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  permitted text[];
  terms smallint;
  is_permitted boolean; beside int; span_without_fee int; span_with_fee int;
  drawn text := gen_random_uuid();
  -- How many numbers the rows before each row take, and all of them.
  starts int[] := '{}'; needed int := 0; numbers bigint[]; undecided text[];
  -- The rows that are written next, and how many numbers those before them took.
  size int := cardinality(tx_ids); done int := 0; until int := size; taken int := 0;
BEGIN
  IF pg_try_advisory_xact_lock(hashtextextended('journal: notify', 1)) THEN
    PERFORM pg_notify('hansa_journal', '');
  END IF;
  SELECT ARRAY(SELECT p.event_type FROM journal_emission_policy p WHERE p.emit_from_teg),
    (SELECT t.id FROM journal_transfer_terms t WHERE (t.frame, t.currency, t.collector) = (frame, currency, collector))
  INTO permitted, terms;
  IF terms IS NULL AND (datas IS NULL OR array_position(datas, NULL) IS NOT NULL) THEN
    terms := journal_terms_of(frame, currency, collector);
  END IF;
  is_permitted := 'LedgerBalanceChanged' = ANY (permitted);
  beside := CASE WHEN 'TokensTransferred' = ANY (permitted) THEN 2 ELSE 0 END
    + CASE WHEN 'TransactionFeeCollected' = ANY (permitted) THEN 4 ELSE 0 END;
  IF is_permitted THEN
    span_without_fee := 1 + ((beside >> 1) & 1);
    span_with_fee := span_without_fee + (beside >> 2);
    FOR k IN 1 .. size LOOP
      starts := starts || needed;
      needed := needed + CASE WHEN datas[k] IS NOT NULL THEN 1 WHEN fees[orders[k]] > 0 THEN span_with_fee
        ELSE span_without_fee END;
    END LOOP;
  END IF;
  WHILE taken < needed LOOP
    numbers := ARRAY(SELECT nextval('journal_event_seq_seq')
      FROM generate_series(1, coalesce(starts[until + 1], needed) - taken));
    -- The numbers of a row follow each other: where another transaction drew one between, fewer rows are tried.
    IF numbers[cardinality(numbers)] - numbers[1] >= cardinality(numbers) THEN
      until := done + greatest(1, (until - done) / 2);
      CONTINUE;
    END IF;
    INSERT INTO journal_event (seq, id, event_type, aggregate_id, aggregate_type, source_service, terms, admitted,
      tx_id, tx_type, payee, amount, fee, freed, payer_after, payee_after, freed_after, collector_after, message)
    OVERRIDING SYSTEM VALUE
    SELECT numbers[1 + starts[k] - taken], journal_event_id(drawn, numbers[1 + starts[k] - taken]),
      'LedgerBalanceChanged', payers[o], 'ledger_transaction', 'ledger', terms,
      CASE WHEN fees[o] > 0 THEN 1 | beside ELSE 1 | (beside & 2) END, tx_ids[k], coalesce(tx_types[k], 'transfer'),
      payees[o], amounts[o], fees[o], freed[k], balances[f], balances[f + 1],
      CASE WHEN freed[k] IS NOT NULL THEN balances[f + 2] END,
      CASE WHEN fees[o] > 0 THEN collector_before + balances[f + CASE WHEN freed[k] IS NULL THEN 2 ELSE 3 END] END,
      coalesce(messages[o], memos[k])
    -- Without OFFSET the planner would write these figures out wherever they are used.
    FROM (SELECT k, orders[k] AS o, firsts[k] AS f FROM generate_series(done + 1, until) k OFFSET 0) t
    WHERE datas[k] IS NULL;
    IF datas IS NOT NULL THEN
      INSERT INTO journal_event (seq, id, event_type, aggregate_id, aggregate_type, data, source_service, idempotency_key)
      OVERRIDING SYSTEM VALUE
      SELECT numbers[1 + starts[k] - taken], journal_event_id(drawn, numbers[1 + starts[k] - taken]),
        'LedgerBalanceChanged', coalesce(payers[orders[k]], payees[orders[k]]), 'ledger_transaction', datas[k], 'ledger',
        concat('ledger-tx-', frame, '-', tx_ids[k])
      FROM generate_series(done + 1, until) k WHERE datas[k] IS NOT NULL;
    END IF;
    taken := coalesce(starts[until + 1], needed);
    done := until;
    until := size;
  END LOOP;
  IF NOT is_permitted OR beside < 6 THEN
    undecided := journal_undecided(types, array_fill('ledger'::text, ARRAY[cardinality(types)])) FROM (
      SELECT array_agg(DISTINCT kind) AS types FROM (
        SELECT 'LedgerBalanceChanged' AS kind
        UNION SELECT 'TokensTransferred' FROM generate_series(1, size) k WHERE datas[k] IS NULL
        UNION SELECT 'TransactionFeeCollected' FROM generate_series(1, size) k
          WHERE datas[k] IS NULL AND fees[orders[k]] > 0) kinds) u;
    IF undecided <> '{}' THEN
      RAISE EXCEPTION 'no emission policy says whether the events of a transaction are recorded'
        USING ERRCODE = 'UE001', DETAIL = array_to_string(undecided, ',');
    END IF;
  END IF;
END $$;
