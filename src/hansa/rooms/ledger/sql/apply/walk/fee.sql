-- The fee on the amount, and the amount of an order that takes what there is.
DECLARE
  rest bigint; sent numeric; most_held bigint; is_hot boolean;
BEGIN
  IF own ? 'fixed_fee' THEN
    price := (own ->> 'fixed_fee')::bigint;
  ELSIF fee_mode IN ('on_top', 'held') THEN
    sent := past_sent[p] + now_sent[p];
    most_held := greatest(funds[p][1], past_held[p], now_held[p]);
    is_hot := sent > div(most_held * policy[5]::numeric, policy[6]);
    IF NOT is_hot AND amount <= plain_max THEN
      -- Nearly every transfer is here. Half to even; amount times numerator fits.
      price := amount * policy[1] / policy[2];
      rest := 2 * (amount * policy[1] % policy[2]);
      IF rest > policy[2] OR rest = policy[2] AND price % 2 = 1 THEN
        price := price + 1;
      END IF;
    ELSE
      -- A payer who holds nothing pays the base rate.
      price := ledger_fee_of_hot_payer(amount, sent, CASE WHEN is_hot THEN most_held ELSE 0 END, policy);
    END IF;
  END IF;
  fees[i] := price;
  IF (own ->> 'at_most')::boolean THEN
    amount := least(amount, funds[p][from_bucket]);
    IF amount = 0 THEN
      outcomes[i] := 'nothing';
      CONTINUE;
    END IF;
  END IF;
