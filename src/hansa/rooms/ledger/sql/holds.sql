-- Writing holds for the orders that open or change them.

-- Open a hold for each of these orders, whose payers are given in the same order; returns `opened`, the ids by order.
CREATE OR REPLACE FUNCTION ledger_open_holds(opened bigint[], opened_orders int[], more jsonb[], amounts bigint[],
  fees bigint[], payers bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  FOR k IN 1 .. cardinality(opened_orders) LOOP
    opened[opened_orders[k]] := nextval('ledger_hold_id_seq');
  END LOOP;
  INSERT INTO ledger_hold (id, owner_kind, owner_id, payer_id, payee_id, amount, fee_held, remaining, expires_at)
  OVERRIDING SYSTEM VALUE
  SELECT opened[o], more[o] -> 'hold' ->> 'owner_kind', more[o] -> 'hold' ->> 'owner_id', payers[n],
    (SELECT a.id FROM ledger_account a WHERE a.did = more[o] -> 'hold' ->> 'payee' AND a.unit = ''), amounts[o],
    fees[o], amounts[o] + fees[o], (more[o] -> 'hold' ->> 'expires_at')::timestamptz
  FROM unnest(opened_orders) WITH ORDINALITY AS w (o, n);
  RETURN opened;
END $$;

-- Write what captures and releases have left of holds, whose rows are locked.
CREATE OR REPLACE FUNCTION ledger_update_holds(hold_ids bigint[], is_touched boolean[], captured bigint[],
  fee_captured bigint[], remaining bigint[], endings text[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  UPDATE ledger_hold l SET captured = captured[c.place], fee_captured = fee_captured[c.place],
    remaining = remaining[c.place], ending = endings[c.place],
    ended_at = CASE WHEN remaining[c.place] = 0 THEN clock_timestamp() END
  FROM unnest(hold_ids, is_touched) WITH ORDINALITY AS c (id, is_touched, place)
  WHERE l.id = c.id AND c.is_touched;
END $$;
