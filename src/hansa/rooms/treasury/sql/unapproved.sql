-- Whether a payment that nobody approves would pass the sum of such payments of this UTC day; without a limit of its own that is the lowest tier.
CREATE OR REPLACE FUNCTION treasury_is_beyond_unapproved(organization uuid, amount bigint, lowest bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN amount + coalesce((SELECT d.unapproved FROM treasury_day d
      WHERE d.organization_id = organization AND d.day = (now() AT TIME ZONE 'UTC')::date), 0)
    > coalesce((SELECT l.unapproved_per_day_max FROM treasury_limits l WHERE l.organization_id = organization), lowest);
END $$;
