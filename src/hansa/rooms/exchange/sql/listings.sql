-- Terms of a listing are final once it is approved; a listing is never deleted, so that its reference is used once.
-- after: plumbing/admin_acts.sql

CREATE OR REPLACE FUNCTION exchange_refuse_other_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the terms of an approved listing are final' USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER exchange_listing_terms BEFORE UPDATE OF ref, organization_id, treasury_did, total, price, min_raise,
  opens_at, closes_at, per_owner_max, revenue_bps, term_months, tick, prospectus_url, prospectus_sha256, fee_bps, digest,
  approved_at ON exchange_listing
  FOR EACH ROW WHEN (OLD.approved_at IS NOT NULL) EXECUTE FUNCTION exchange_refuse_other_terms();

CREATE OR REPLACE TRIGGER exchange_listing_kept BEFORE DELETE OR TRUNCATE ON exchange_listing
  FOR EACH STATEMENT EXECUTE FUNCTION plumbing_refuse_change();
