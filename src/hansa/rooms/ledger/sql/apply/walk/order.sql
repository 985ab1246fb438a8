-- The order at hand; the initial values are those of a transfer.
DECLARE
  own jsonb; refusal text; is_payee_unknown boolean := false; amount bigint; price bigint; left_over bigint := 0;
  from_bucket int := 1; to_bucket int := 1; fee_mode text := 'on_top'; paced text := 'sent'; active_mask int := 3;
  named jsonb;
  -- Places of the debited and the credited account, of its hold and of its crossing.
  p int; q int; h int; x int;
BEGIN
  CONTINUE WHEN outcomes[i] IS NOT NULL;
  own := more[i];
  refusal := NULL;
  amount := amounts[i];
  price := 0;
  IF has_more THEN
    -- What the order before may have changed.
    from_bucket := 1; to_bucket := 1; fee_mode := 'on_top'; paced := 'sent'; active_mask := 3;
    left_over := 0; h := NULL; x := NULL; is_still := false; is_payee_unknown := false;
  END IF;
  p := (place_of ->> debits[i])::int;
  q := (place_of ->> credits[i])::int;
