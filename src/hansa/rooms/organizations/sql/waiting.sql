-- Tiers that bind a pending request by the rules of now.

-- `above` of the tier whose approvals the request needs beside those of its creation; null: none. `amount` is that of a payment, a contract
-- or an award; a control request has none, and needs the highest tier. The treasury's room decides beyond which sum of a day the lowest one is needed.
CREATE OR REPLACE FUNCTION organizations_present_tier(organization uuid, amount bigint, is_of_budget boolean) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  lowest bigint;
  found bigint;
BEGIN
  SELECT min(t.above), max(t.above) FILTER (WHERE amount IS NULL OR t.above < amount) INTO lowest, found
  FROM organizations_tier t WHERE t.organization_id = organization AND NOT is_of_budget;
  IF found IS NULL AND lowest IS NOT NULL AND treasury_is_beyond_unapproved(organization, amount, lowest) THEN
    RETURN lowest;
  END IF;
  RETURN found;
END $$;
