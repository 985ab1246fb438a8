-- Verdicts of the auditor are final.

CREATE OR REPLACE FUNCTION auditor_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'verdicts are final: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER auditor_verdict_final BEFORE UPDATE OR DELETE OR TRUNCATE ON auditor_verdict
  FOR EACH STATEMENT EXECUTE FUNCTION auditor_refuse_change();
