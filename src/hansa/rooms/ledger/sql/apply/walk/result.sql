-- The new state of a hold, and the result of an order that moved units.
BEGIN
  IF h IS NOT NULL THEN
    hold_is_touched[h] := true;
    IF own ? 'release' THEN
      hold_left[h] := 0;
      hold_endings[h] := CASE WHEN (named ->> 'due')::boolean THEN 'expired' ELSE 'released' END;
    ELSE
      hold_captured[h] := hold_captured[h] + amount;
      IF fee_mode = 'inside' THEN
        hold_left[h] := hold_left[h] - amount - left_over;
      ELSE
        hold_fee_captured[h] := hold_fee_captured[h] + price;
        hold_left[h] := hold_left[h] - amount - price - left_over;
      END IF;
      IF hold_left[h] = 0 THEN
        hold_endings[h] := 'captured';
      END IF;
    END IF;
  ELSIF own ? 'hold' THEN
    opened_orders := opened_orders || i;
  END IF;
  outcomes[i] := 'posted';
  IF own IS NULL THEN
    balances[i] := funds[p][1];
  ELSE
    moved_amounts[i] := amount;
    balances[i] := funds[coalesce(p, q)][CASE WHEN h IS NULL THEN from_bucket ELSE 1 END];
    credited_balances[i] := funds[q][to_bucket];
  END IF;
  debit_places := debit_places || p;
  credit_places := credit_places || q;
