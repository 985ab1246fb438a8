-- Approvals of contracts in the commit of the ledger's orders: the extension commerce_approve (ledger/sql/extensions.sql
-- says how it is called).
-- after: commerce/counts.sql
-- after: journal/appending.sql
-- after: ledger/fees.sql

-- Approve the last part of contracts with the payments that their lines order. A payload: {contract_id, version, milestone,
-- actor, answer}; `version` is the xmin of the contract's row when it was judged, `milestone` and `answer` may be absent.
-- Refusal: NOT_AS_JUDGED, where another act has the contract or has changed it, or its deadline has come.
CREATE OR REPLACE FUNCTION commerce_approve_claim(lines jsonb) RETURNS TABLE (place int, refusal text, result jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  judged text[] := ARRAY(SELECT concat(l -> 'payload' ->> 'contract_id', ' ', l -> 'payload' ->> 'version')
    FROM jsonb_array_elements(lines) l);
  -- Without waiting: what waits for one contract would keep the whole batch.
  taken text[] := ARRAY(
    SELECT concat(c.id, ' ', c.xmin) FROM commerce_contract c
    WHERE c.id = ANY (ARRAY(SELECT (l -> 'payload' ->> 'contract_id')::bigint FROM jsonb_array_elements(lines) l))
      AND concat(c.id, ' ', c.xmin) = ANY (judged) AND (c.due_at > clock_timestamp()) IS NOT FALSE
    ORDER BY c.id FOR NO KEY UPDATE SKIP LOCKED);
BEGIN
  RETURN QUERY SELECT l.place, 'NOT_AS_JUDGED', NULL::jsonb
  FROM (
    SELECT (e ->> 'place')::int AS place,
      concat(e -> 'payload' ->> 'contract_id', ' ', e -> 'payload' ->> 'version') AS version,
      row_number() OVER (PARTITION BY e -> 'payload' ->> 'contract_id' ORDER BY (e ->> 'place')::int) AS rank
    FROM jsonb_array_elements(lines) e
  ) l WHERE l.rank > 1 OR l.version <> ALL (taken);
END $$;

-- The result has `at`, `counts`, and `answer` as it was given.
CREATE OR REPLACE FUNCTION commerce_approve_record(lines jsonb) RETURNS TABLE (place int, result jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  moment CONSTANT timestamptz := clock_timestamp();
  places int[];
  contractors text[];
  datas jsonb[];
  results jsonb[];
BEGIN
  WITH line AS (
    SELECT (e ->> 'place')::int AS place, (e ->> 'tx_id')::bigint AS tx_id, (e ->> 'moved')::bigint AS moved,
      (e ->> 'fee')::bigint AS fee, p.*
    FROM jsonb_array_elements(lines) e CROSS JOIN LATERAL jsonb_to_record(e -> 'payload')
      AS p (contract_id bigint, milestone smallint, actor text, answer text)
  ), completed AS (
    UPDATE commerce_contract c SET status = 'COMPLETED', ended_because = 'approved', completed_at = moment,
      ended_at = moment, due_at = NULL, stops = '{}', stopped_at = NULL, amount_paid = c.amount_paid + l.moved,
      fee_paid = c.fee_paid + l.fee, payment_tx_id = l.tx_id, payment_transfer = NULL
    FROM line l WHERE c.id = l.contract_id AND c.status = 'SUBMITTED'
    RETURNING l.place, l.milestone, l.actor, l.answer, c.id, c.contractor_did, c.provider_did, c.amount_paid, c.fee_paid,
      c.currency, c.payment_tx_id, (SELECT n.counts FROM commerce_counted(c.contractor_did, c.provider_did) n) AS counts
  ), paid AS (
    UPDATE commerce_contract_milestone m SET state = 'approved', payment_tx_id = d.payment_tx_id, payment_transfer = NULL
    FROM completed d WHERE m.contract_id = d.id AND m.index = d.milestone
  ), noted AS (
    INSERT INTO commerce_contract_history (contract_id, act, actor_did, milestone, at)
    SELECT d.id, 'approved', d.actor, d.milestone, moment FROM completed d ORDER BY d.place
  )
  SELECT array_agg(d.place), array_agg(d.contractor_did), array_agg(jsonb_build_object('contract_id', d.id,
      'contractor_did', d.contractor_did, 'provider_did', d.provider_did, 'amount', ledger_amount(d.amount_paid), 'fee',
      ledger_amount(d.fee_paid), 'currency', d.currency, 'tx_id', d.payment_tx_id, 'counts', d.counts, 'transfer_id',
      NULL)), array_agg(jsonb_build_object('at', moment, 'counts', d.counts, 'answer', d.answer))
  INTO places, contractors, datas, results FROM (SELECT * FROM completed ORDER BY place) d;
  PERFORM journal_append_decided(array_fill('ContractCompleted'::text, ARRAY[cardinality(places)]), contractors,
    array_fill('contract'::text, ARRAY[cardinality(places)]), datas,
    array_fill('registry'::text, ARRAY[cardinality(places)]), array_fill(NULL::text, ARRAY[cardinality(places)]));
  RETURN QUERY SELECT r.place, r.result FROM unnest(places, results) AS r (place, result);
END $$;
