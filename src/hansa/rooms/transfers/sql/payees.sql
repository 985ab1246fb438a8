-- Agents whose record a payment from another registry enters.
-- after: agents/owners.sql
-- after: people/areas.sql

-- Whether the payee is an agent of this registry whose owner has no area of the administration.
CREATE OR REPLACE FUNCTION transfers_payee_counts(payee text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
  owner CONSTANT bigint := agents_owner(payee);
BEGIN
  RETURN owner IS NOT NULL AND NOT people_has_area(owner);
END $$;
