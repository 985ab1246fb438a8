-- Limits: the bucket covers amount and fee, transit stays between its bounds, units that enter stay below the limits of
-- their registry and of the supply.
DECLARE
  entry_room numeric;
BEGIN
  IF is_still THEN
    IF step = 'reserve' AND NOT is_swap THEN
      -- Both are sums over many rows, which no order of this batch has written yet. A registry whose account a dry
      -- run does not open has sent nothing.
      IF p IS NOT NULL AND net_in_before[p] IS NULL THEN
        net_in_before[p] := ledger_net_in(account_ids[p]);
      END IF;
      entry_room := coalesce(entry_room, ledger_room_for_entry((own -> 'crossing' ->> 'supply_max')::bigint));
      IF coalesce(net_in_before[p] + net_in_change[p], 0) + amount
        > (own -> 'crossing' ->> 'net_in_limit')::bigint THEN
        refusal := 'beyond_net_in';
      ELSIF coalesce((SELECT sum(change) FROM unnest(net_in_change) change), 0) + amount > entry_room THEN
        refusal := 'beyond_supply';
      END IF;
    END IF;
  ELSIF p IS NULL OR h IS NOT NULL THEN
    NULL;
  ELSIF from_bucket = 4 THEN
    IF funds[p][4] - amount < floors[p] THEN
      refusal := 'beyond_limit';
    END IF;
  ELSIF funds[p][from_bucket] < (amount + CASE WHEN fee_mode = 'inside' THEN 0 ELSE price END) THEN
    refusal := 'uncovered';
    balances[i] := funds[p][from_bucket];
  END IF;
  IF NOT is_still AND to_bucket = 4 AND funds[q][4] + amount > ceilings[q] THEN
    refusal := 'beyond_limit';
  END IF;
