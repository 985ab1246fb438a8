-- Open holds of one kind of owners, for rooms above that compare them with their own rows.
CREATE OR REPLACE FUNCTION ledger_open_holds(kind text)
RETURNS TABLE (hold_id bigint, owner_id text, amount bigint, fee_held bigint, remaining bigint)
LANGUAGE sql STABLE AS $$
  SELECT h.id, h.owner_id, h.amount, h.fee_held, h.remaining FROM ledger_hold h
  WHERE h.owner_kind = kind AND h.remaining > 0
$$;
