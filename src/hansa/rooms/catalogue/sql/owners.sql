-- Whether pages may show together what belongs to an organization; its room, above this one, states that by a function that is looked up
-- at the call (decision 0248).
CREATE OR REPLACE FUNCTION catalogue_is_public_owner(organization uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN organizations_is_public(organization);
END $$;
