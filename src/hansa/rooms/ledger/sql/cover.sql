-- What an account can pay, for the functions of other rooms.

-- Whether payer and payee are active accounts and the payer's liquid balance is at least so much. In plpgsql, because
-- there its plan is cached.
CREATE OR REPLACE FUNCTION ledger_covers(payer text, payee text, required bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM ledger_account a WHERE a.did = payer AND a.unit = '' AND a.status = 'active' AND a.liquid >= required
  ) AND EXISTS (SELECT FROM ledger_account a WHERE a.did = payee AND a.unit = '' AND a.status = 'active');
END $$;
