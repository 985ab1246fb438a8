-- What an account can pay, for the functions of other rooms.

-- The liquid balance of an active account; no row: there is none. It becomes part of the query that reads it.
CREATE OR REPLACE FUNCTION ledger_active(account text) RETURNS TABLE (liquid bigint)
LANGUAGE sql STABLE AS $$
  SELECT a.liquid FROM ledger_account a WHERE a.did = account AND a.unit = '' AND a.status = 'active'
$$;
