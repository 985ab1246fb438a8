-- Extensions claim their rows before any account is locked; a claim that is refused makes its group lost.
DECLARE
  claimed int[] := '{}'; extension record;
BEGIN
  IF is_extended AND NOT dry THEN
    claimed := ARRAY(
      SELECT i FROM generate_series(1, size) i
      WHERE more[i] ? 'extension' AND known[i] IS NULL AND i <> ALL (lost_at)
        AND ((more[i] ->> 'group')::int = ANY (lost_groups)) IS NOT TRUE);
    FOR extension IN SELECT * FROM ledger_claim(claimed, more, amounts, debits, credits) LOOP
      IF extension.refusal IS NULL THEN
        kept_answers[extension.place] := extension.result;
      ELSE
        kept_answers[extension.place] := jsonb_build_object('refusal', extension.refusal, 'detail', extension.result);
        claimed := array_remove(claimed, extension.place);
        lost_groups := lost_groups || (more[extension.place] ->> 'group')::int;
        lost_at := lost_at || extension.place;
        lost_outcomes := lost_outcomes || 'claim_refused'::text;
        lost_fees := lost_fees || NULL::bigint;
        lost_balances := lost_balances || NULL::bigint;
      END IF;
    END LOOP;
  END IF;
