-- A step of a crossing: a refusal, or the amount, the fee and the parties that its reserve fixed.
DECLARE
  step text; is_out boolean; is_swap boolean; is_again boolean;
  -- The step moves nothing.
  is_still boolean := false;
BEGIN
  x := (crossing_place ->> ledger_crossing_key(own))::int;
  step := own -> 'crossing' ->> 'step';
  is_again := own -> 'crossing' ? 'again' AND crossing_states[x] = 'aborted';
  is_out := crossing_directions[x] IN ('out', 'swap_out');
  is_swap := crossing_directions[x] IN ('swap_out', 'swap_in');
  is_still := is_out = (step = 'commit') AND NOT (is_out AND is_swap);
  refusal := ledger_crossing_refusal(step, CASE WHEN NOT is_again THEN crossing_states[x] END, (
    (crossing_agents[x], crossing_counterparties[x], crossing_amounts[x], crossing_fees[x]) IS NOT DISTINCT FROM
    (CASE WHEN is_out THEN debits[i] ELSE credits[i] END, own -> 'crossing' ->> 'counterparty', amount,
    coalesce((own -> 'crossing' ->> 'fee')::bigint, 0))));
  IF refusal = 'repeated' THEN
    outcomes[i] := 'repeated';
    moved_amounts[i] := 0;
    CONTINUE;
  ELSIF refusal IS NULL AND step <> 'reserve' THEN
    amount := crossing_amounts[x];
    price := crossing_fees[x];
    credits[i] := CASE WHEN crossing_closed[x] AND NOT is_still THEN own -> 'crossing' ->> 'unclaimed'
      ELSE crossing_agents[x] END;
    IF is_swap AND step = 'commit' AND is_out THEN
      credits[i] := own -> 'crossing' ->> 'leg';
    ELSIF is_swap AND step = 'commit' THEN
      debits[i] := own -> 'crossing' ->> 'leg';
      p := (place_of ->> debits[i])::int;
    END IF;
    q := (place_of ->> credits[i])::int;
    IF q IS NULL AND crossing_closed[x] THEN
      RAISE EXCEPTION 'an account was closed meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
  ELSIF dry AND NOT place_of ? crossing_transits[x] THEN
    -- The first crossing with a registry opens its account, which a dry run does not.
    debits[i] := nullif(debits[i], crossing_transits[x]);
    credits[i] := nullif(credits[i], crossing_transits[x]);
  END IF;
