-- What an account can pay, for the functions of other rooms.

-- Whether payer and payee are active accounts and the payer's liquid balance is at least so much.
CREATE OR REPLACE FUNCTION ledger_covers(payer text, payee text, required bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT count(*) = 2 FROM ledger_account a
  WHERE a.did IN (payer, payee) AND a.unit = '' AND a.status = 'active' AND (a.did <> payer OR a.liquid >= required)
$$;
