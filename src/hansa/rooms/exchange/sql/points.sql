-- Points in double entry: the postings of a movement sum to zero, and what is posted is final.
-- after: plumbing/admin_acts.sql

-- Postings written by one statement sum to zero for each movement.
CREATE OR REPLACE FUNCTION exchange_require_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM written GROUP BY ref, seq HAVING sum(delta) <> 0) THEN
    RAISE EXCEPTION 'postings of points do not sum to zero' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER exchange_points_balance AFTER INSERT ON exchange_point_posting REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION exchange_require_balance();

CREATE OR REPLACE TRIGGER exchange_points_final BEFORE UPDATE OR DELETE OR TRUNCATE ON exchange_point_posting
  FOR EACH STATEMENT EXECUTE FUNCTION plumbing_refuse_change();
