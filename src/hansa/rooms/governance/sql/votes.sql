-- A vote is final.
-- after: plumbing/admin_acts.sql

CREATE OR REPLACE TRIGGER governance_vote_final BEFORE UPDATE OR DELETE OR TRUNCATE ON governance_vote
  FOR EACH STATEMENT EXECUTE FUNCTION plumbing_refuse_change();
