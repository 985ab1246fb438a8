-- Typed extensions: rows of a room that are claimed and recorded in the commit of its orders.

-- Call `<kind>_claim(lines)` for each kind of extension among these, in the order of the names. It decides in the order
-- of `place` and returns a row for each line that it refuses, with a code and what the caller needs to know, and may
-- return one for a line that it claims, with the result. A line: {place, payload, amount, debit, credit}, the last three
-- as they were ordered.
CREATE OR REPLACE FUNCTION ledger_claim(extensions jsonb[]) RETURNS TABLE (place int, refusal text, result jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  same record;
BEGIN
  FOR same IN SELECT e ->> 'kind' AS kind, jsonb_agg(e -> 'line' ORDER BY (e -> 'line' ->> 'place')::int) AS lines
    FROM unnest(extensions) e GROUP BY 1 ORDER BY 1 LOOP
    RETURN QUERY EXECUTE format('SELECT c.place, c.refusal, c.result FROM %I($1) c', same.kind || '_claim')
      USING same.lines;
  END LOOP;
END $$;

-- Call `<kind>_record(lines)` likewise, for the lines that were claimed, once the money is written. It may return a row
-- for a line, whose members are added to its result. A line has in addition: tx_id (null when no units were moved),
-- moved, fee, balance, credited and hold_id; debit and credit are those of the hold where one was named.
CREATE OR REPLACE FUNCTION ledger_record(extensions jsonb[]) RETURNS TABLE (place int, result jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  same record;
BEGIN
  FOR same IN SELECT e ->> 'kind' AS kind, jsonb_agg(e -> 'line' ORDER BY (e -> 'line' ->> 'place')::int) AS lines
    FROM unnest(extensions) e GROUP BY 1 ORDER BY 1 LOOP
    RETURN QUERY EXECUTE format('SELECT c.place, c.result FROM %I($1) c', same.kind || '_record') USING same.lines;
  END LOOP;
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
