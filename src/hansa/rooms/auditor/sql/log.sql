-- What was appended to the log is final.

CREATE OR REPLACE FUNCTION auditor_refuse_log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'the log is append-only: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER auditor_log_leaf_final BEFORE UPDATE OR DELETE OR TRUNCATE ON auditor_log_leaf
  FOR EACH STATEMENT EXECUTE FUNCTION auditor_refuse_log_change();

CREATE OR REPLACE TRIGGER auditor_log_node_final BEFORE UPDATE OR DELETE OR TRUNCATE ON auditor_log_node
  FOR EACH STATEMENT EXECUTE FUNCTION auditor_refuse_log_change();
