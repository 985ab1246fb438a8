-- The record of what was done in an organization is append-only.
-- after: plumbing/admin_acts.sql

CREATE OR REPLACE TRIGGER organizations_act_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON organizations_act
  FOR EACH STATEMENT EXECUTE FUNCTION plumbing_refuse_change();
