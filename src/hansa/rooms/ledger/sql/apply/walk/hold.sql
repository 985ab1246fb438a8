-- A hold to open, to capture or to release: a refusal, or the amount, its part of the held fee and the rest that is freed.
BEGIN
  IF own -> 'hold' ? 'payee' THEN
    is_payee_unknown := NOT EXISTS (
      SELECT FROM ledger_account a WHERE a.did = own -> 'hold' ->> 'payee' AND a.unit = '');
  END IF;
  IF named IS NOT NULL THEN
    h := (hold_place ->> (named ->> 'id'))::int;
    from_bucket := 3;
    IF h IS NULL THEN
      refusal := 'hold_unknown';
    ELSIF hold_left[h] = 0 THEN
      refusal := 'hold_ended';
    ELSIF own ? 'release' THEN
      IF (named ->> 'due')::boolean AND NOT hold_is_due[h] THEN
        refusal := 'hold_not_due';
      END IF;
      amount := hold_left[h];
    ELSIF hold_is_due[h] THEN
      refusal := 'hold_expired';
    ELSIF amount > hold_amounts[h] - hold_captured[h] THEN
      refusal := 'hold_exceeded';
      balances[i] := hold_amounts[h] - hold_captured[h];
    ELSE
      -- A fee inside the amount is the payee's: the held fee stays in the hold.
      IF fee_mode <> 'inside' THEN
        price := ledger_held_fee(hold_captured[h] + amount, hold_amounts[h], hold_fees[h]) - hold_fee_captured[h];
      END IF;
      IF (named ->> 'final')::boolean THEN
        left_over := hold_left[h] - amount - price;
      END IF;
    END IF;
  END IF;
