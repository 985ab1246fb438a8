-- The new state of a crossing; a step that moves nothing ends here.
BEGIN
  crossing_changed[x] := true;
  crossing_states[x] := CASE step WHEN 'reserve' THEN 'reserved' WHEN 'commit' THEN 'committed' ELSE 'aborted' END;
  IF step = 'reserve' THEN
    crossing_agents[x] := CASE WHEN is_out THEN debits[i] ELSE credits[i] END;
    crossing_counterparties[x] := own -> 'crossing' ->> 'counterparty';
    crossing_amounts[x] := amount;
    crossing_fees[x] := coalesce((own -> 'crossing' ->> 'fee')::bigint, 0);
    IF is_again AND is_out THEN
      -- The transaction that was aborted has the reference: one transfer leaves once under each.
      more[i] := jsonb_set(own, '{ref}', to_jsonb(format('{%s}', crossing_transfers[x])));
    END IF;
  END IF;
  IF is_still THEN
    IF p IS NOT NULL AND NOT is_swap THEN
      net_in_change[p] := net_in_change[p] + CASE step WHEN 'reserve' THEN amount ELSE -amount END;
    END IF;
    outcomes[i] := 'recorded';
    moved_amounts[i] := 0;
    CONTINUE;
  ELSIF step = 'abort' OR is_out AND step = 'commit' THEN
    returned_by[x] := i;
  ELSE
    moved_by[x] := i;
  END IF;
