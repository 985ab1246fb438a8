-- Typed extensions: rows of a room that are claimed and recorded in the commit of its orders.

-- Call `<kind>_claim(lines)` for each kind of extension among the claimed orders, in the order of the names. It decides in
-- the order of `place` and returns a row for each line that it refuses, with a code and what the caller needs to know, and
-- may return one for a line that it claims, with the result. A line: {place, payload}.
CREATE OR REPLACE FUNCTION ledger_claim(claimed int[], more jsonb[], amounts bigint[], debits text[], credits text[])
RETURNS TABLE (place int, refusal text, result jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  same record;
BEGIN
  FOR same IN
    SELECT own ->> 'kind' AS kind, jsonb_agg(jsonb_build_object('place', i, 'payload', own -> 'payload') ORDER BY i) AS lines
    FROM (SELECT i, more[i] -> 'extension' AS own FROM unnest(claimed) i OFFSET 0) e GROUP BY 1 ORDER BY 1
  LOOP
    RETURN QUERY EXECUTE format('SELECT c.place, c.refusal, c.result FROM %I($1) c', same.kind || '_claim')
      USING same.lines;
  END LOOP;
END $$;

-- Call `<kind>_record(lines)` likewise, for the lines that were claimed, once the money is written. It returns a row for each
-- line, whose members are added to its result. A line has in addition: tx_id (null when no units were moved), moved, fee,
-- balance and hold_id. An extension with `is_recorded` false has no such function. A line without a row is of an object that
-- an order of another kind took: the batch is given up, and the caller repeats fewer at a time.
CREATE OR REPLACE FUNCTION ledger_record(claimed int[], more jsonb[], amounts bigint[], debits text[], credits text[],
  tx_ids bigint[], moved_amounts bigint[], fees bigint[], balances bigint[], credited_balances bigint[], opened bigint[])
RETURNS TABLE (place int, result jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  same record;
  recorded int;
BEGIN
  FOR same IN
    SELECT own ->> 'kind' AS kind, jsonb_agg(jsonb_build_object('place', i, 'payload', own -> 'payload', 'tx_id', tx_ids[i],
      'moved', moved_amounts[i], 'fee', fees[i], 'balance', balances[i], 'hold_id',
      coalesce(opened[i], (coalesce(more[i] -> 'capture', more[i] -> 'release') ->> 'id')::bigint)) ORDER BY i) AS lines
    FROM (SELECT i, more[i] -> 'extension' AS own FROM unnest(claimed) i OFFSET 0) e
    WHERE own -> 'is_recorded' IS DISTINCT FROM 'false' GROUP BY 1 ORDER BY 1
  LOOP
    RETURN QUERY EXECUTE format('SELECT c.place, c.result FROM %I($1) c', same.kind || '_record') USING same.lines;
    GET DIAGNOSTICS recorded = ROW_COUNT;
    IF recorded <> jsonb_array_length(same.lines) THEN
      RAISE EXCEPTION 'two orders took the same object of %', same.kind USING ERRCODE = 'UE003';
    END IF;
  END LOOP;
END $$;

-- The claims that have to be undone, with the outcome of their orders, by place; null when all may stay. The others are
-- decided again. Only when no order is refused for another reason, the groups of a refused claim are undone: that claim
-- may succeed without the others.
CREATE OR REPLACE FUNCTION ledger_claims_to_undo(claimed int[], more jsonb[], outcomes text[], fees bigint[],
  balances bigint[], kept_answers text[])
RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT coalesce(jsonb_object_agg(n, why) FILTER (WHERE outcomes[n] <> 'claim_refused'), jsonb_object_agg(n, why))
    FROM generate_subscripts(outcomes, 1) n,
      jsonb_build_object('outcome', outcomes[n], 'fee', fees[n], 'balance', balances[n], 'answer', kept_answers[n]) why
    WHERE outcomes[n] NOT IN ('posted', 'recorded', 'repeated', 'nothing', 'undone') AND (n = ANY (claimed)
      OR (more[n] ->> 'group')::int IN (SELECT (more[c] ->> 'group')::int FROM unnest(claimed) c)));
END $$;

-- `ledger_apply` for orders of which some have an extension. Where the money is refused to an order that was claimed, all
-- claims are undone and the orders decided again without it. Many orders that compete for few rows may need many rounds;
-- they are then given up together, and the caller repeats fewer at a time.
CREATE OR REPLACE FUNCTION ledger_apply_extended(frame text, currency text, collector text, policy bigint[], orders json,
  window_hours int, dry boolean)
RETURNS TABLE (outcome text, tx_id bigint, moved bigint, fee bigint, balance bigint, credited bigint, hold_id bigint,
  answer text, recorded_at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
  lost text;
BEGIN
  FOR round IN 1 .. 8 LOOP
    BEGIN
      RETURN QUERY SELECT * FROM ledger_apply(frame, currency, collector, policy, orders, window_hours, dry);
      RETURN;
    EXCEPTION WHEN SQLSTATE 'UE002' THEN
      GET STACKED DIAGNOSTICS lost = PG_EXCEPTION_DETAIL;
    END;
    orders := (
      SELECT json_agg(CASE WHEN lost::jsonb ? o.place::text
        THEN jsonb_set(o.one::jsonb, '{more,lost}', lost::jsonb -> o.place::text)::json ELSE o.one END ORDER BY o.place)
      FROM json_array_elements(orders) WITH ORDINALITY AS o (one, place));
  END LOOP;
  RAISE EXCEPTION 'too many orders compete for the same rows' USING ERRCODE = 'UE003';
END $$;
