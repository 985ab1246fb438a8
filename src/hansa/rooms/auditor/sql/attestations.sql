-- Attestations are final, and an auditor key may only be retired and then lose its private half.

CREATE OR REPLACE FUNCTION auditor_refuse_attestation_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'attestations are final: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER auditor_attestation_final BEFORE UPDATE OR DELETE OR TRUNCATE ON auditor_attestation
  FOR EACH STATEMENT EXECUTE FUNCTION auditor_refuse_attestation_change();

CREATE OR REPLACE FUNCTION auditor_keep_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE'
    AND (NEW.kid, NEW.public_key, NEW.valid_from) IS NOT DISTINCT FROM (OLD.kid, OLD.public_key, OLD.valid_from)
    AND (OLD.retired_at IS NULL
      OR (NEW.retired_at, NEW.retired_at_id, NEW.retired_at_size)
        IS NOT DISTINCT FROM (OLD.retired_at, OLD.retired_at_id, OLD.retired_at_size)) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION USING MESSAGE = 'the history of auditor keys is kept: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER auditor_key_history BEFORE UPDATE OR DELETE ON auditor_key
  FOR EACH ROW EXECUTE FUNCTION auditor_keep_keys();

CREATE OR REPLACE TRIGGER auditor_key_kept BEFORE TRUNCATE ON auditor_key
  FOR EACH STATEMENT EXECUTE FUNCTION auditor_keep_keys();
