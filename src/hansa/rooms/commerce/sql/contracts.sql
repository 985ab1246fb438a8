-- Taking a contract for an act.

-- The contract, the clock and its milestones, once no other act has it; no row: there is no such contract. Each statement
-- after the lock sees what the act before committed. `milestones` is null where there are none.
CREATE OR REPLACE FUNCTION commerce_take_contract(wanted bigint)
RETURNS TABLE (contract commerce_contract, now timestamptz, milestones json)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM FROM commerce_contract WHERE id = wanted FOR NO KEY UPDATE;
  RETURN QUERY SELECT c, clock_timestamp(), (
    SELECT json_agg(json_build_object('index', m.index, 'title', m.title, 'amount', m.amount, 'due', m.due,
      'state', m.state, 'payment_tx_id', m.payment_tx_id, 'payment_transfer', m.payment_transfer,
      'submitted_at', m.submitted_at) ORDER BY m.index)
    FROM commerce_contract_milestone m WHERE m.contract_id = c.id)
  FROM commerce_contract c WHERE c.id = wanted;
END $$;
