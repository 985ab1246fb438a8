-- Filing a dispute.

-- The moment at which a dispute is filed. Its number is then above the seconds since 2025: other registries know a dispute by its
-- number, and one that a restored database has lost must not give its number to another one.
CREATE OR REPLACE FUNCTION commerce_time_of_dispute() RETURNS timestamptz
LANGUAGE plpgsql AS $$
DECLARE
  filed_at CONSTANT timestamptz := clock_timestamp();
  least_number CONSTANT bigint := floor(extract(epoch FROM filed_at - timestamptz '2025-01-01 00:00:00+00'));
BEGIN
  -- Without the lock two that are filed at once could both raise the sequence, the second one to below what the first has drawn.
  PERFORM pg_advisory_xact_lock(hashtextextended('commerce numbers of disputes', 0));
  IF (SELECT last_value FROM commerce_dispute_id_seq) < least_number THEN
    PERFORM setval('commerce_dispute_id_seq', least_number);
  END IF;
  RETURN filed_at;
END $$;
