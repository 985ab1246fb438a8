-- Which payments between agents count toward their records.
-- after: agents/owners.sql
-- after: people/areas.sql

-- Whether a job that the payer pays to the payee counts: their owners are different developers of this registry, neither of
-- whom has an area of the administration. In plpgsql, because there its plan is cached.
CREATE OR REPLACE FUNCTION commerce_counts(payer_did text, payee_did text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
  payer CONSTANT bigint := agents_owner(payer_did);
  payee CONSTANT bigint := agents_owner(payee_did);
BEGIN
  RETURN coalesce(payer <> payee, false) AND NOT people_has_area(payer) AND NOT people_has_area(payee);
END $$;
