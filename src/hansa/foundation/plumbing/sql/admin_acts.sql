-- The log of administrators' acts is append-only.

CREATE OR REPLACE FUNCTION plumbing_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER plumbing_admin_act_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON plumbing_admin_act
  FOR EACH STATEMENT EXECUTE FUNCTION plumbing_refuse_change();
