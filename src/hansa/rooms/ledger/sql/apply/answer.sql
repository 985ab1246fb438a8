-- Extensions record their rows, keys remember their receipts, and every order gets its row.
DECLARE
  remembered record;
BEGIN
  IF claimed <> '{}' THEN
    FOR extension IN SELECT * FROM ledger_record(claimed, more, amounts, debits, credits, tx_ids, moved_amounts, fees,
      balances, credited_balances, opened) LOOP
      kept_answers[extension.place] := coalesce(kept_answers[extension.place]::jsonb, '{}') || extension.result;
    END LOOP;
  END IF;
  IF has_more THEN
    FOR remembered IN SELECT * FROM ledger_receipts(carried, scopes, more, tx_ids, moved_amounts, fees, balances, opened,
      kept_answers, microseconds) LOOP
      receipts[remembered.place] := remembered.receipts;
    END LOOP;
  END IF;
  PERFORM plumbing_remember(scopes, digests, receipts);
  RETURN QUERY SELECT outcomes[n], tx_ids[n], moved_amounts[n], fees[n], balances[n], credited_balances[n], opened[n],
    kept_answers[n], now() FROM generate_series(1, size) n;
