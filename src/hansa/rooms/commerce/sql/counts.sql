-- Which payments between agents count toward their records.
-- after: agents/owners.sql
-- after: people/areas.sql

-- Whether a job that the payer pays to the payee counts: their owners are different developers of this registry, neither of
-- whom has an area of the administration.
CREATE OR REPLACE FUNCTION commerce_counts(payer_did text, payee_did text) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT coalesce(payer <> payee AND NOT people_has_area(payer) AND NOT people_has_area(payee), false)
  FROM (SELECT agents_owner(payer_did) AS payer, agents_owner(payee_did) AS payee OFFSET 0) owners
$$;
