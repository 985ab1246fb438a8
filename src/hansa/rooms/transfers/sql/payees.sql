-- Agents whose record a payment from another registry enters.
-- after: agents/owners.sql
-- after: agents/rights.sql
-- after: organizations/rights.sql
-- after: people/areas.sql

-- Whether the payee is an agent of this registry whose owner has no area of the administration.
CREATE OR REPLACE FUNCTION transfers_payee_counts(payee text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
  owner CONSTANT bigint := agents_owner(payee);
  organization CONSTANT uuid := (SELECT o.organization_id FROM agents_ownership(payee) o);
BEGIN
  RETURN owner IS NOT NULL
    AND NOT CASE WHEN organization IS NULL THEN people_has_area(owner) ELSE organizations_administrator(organization) IS NOT NULL END;
END $$;
