-- Claims to undo, the orders that were carried out, and the answer of a dry run.
DECLARE
  unclaimed jsonb; carried int[];
BEGIN
  IF claimed <> '{}' THEN
    unclaimed := ledger_claims_to_undo(claimed, more, outcomes, fees, balances, kept_answers);
    IF unclaimed IS NOT NULL THEN
      RAISE EXCEPTION 'claims have to be undone' USING ERRCODE = 'UE002', DETAIL = unclaimed;
    END IF;
  END IF;
  carried := done;
  IF has_more THEN
    carried := ARRAY(
      SELECT i FROM generate_series(1, size) i WHERE outcomes[i] IN ('posted', 'recorded', 'repeated', 'nothing'));
  END IF;
  IF NOT dry AND 'repeated' = ANY (outcomes) THEN
    -- The step was done by an earlier transaction, of which perhaps no standby knows.
    PERFORM plumbing_await_standbys();
  END IF;
  IF dry OR carried = '{}' THEN
    RETURN QUERY SELECT outcomes[n], tx_ids[n], moved_amounts[n], fees[n], balances[n], credited_balances[n], opened[n],
      kept_answers[n], now() FROM generate_series(1, size) n;
    RETURN;
  END IF;
