-- The history of the registry's signing keys, against which old signatures are verified.

-- A key may be retired, once, and sealed anew while it has a private half; no other change is permitted.
CREATE OR REPLACE FUNCTION federation_keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND (OLD.retired_at IS NULL AND NEW.retired_at IS NOT NULL
      OR OLD.retired_at IS NOT DISTINCT FROM NEW.retired_at AND OLD.sealed_key IS NOT NULL AND NEW.sealed_key IS NOT NULL)
    AND (NEW.sequence, NEW.registry_id, NEW.public_key, NEW.valid_from)
      IS NOT DISTINCT FROM (OLD.sequence, OLD.registry_id, OLD.public_key, OLD.valid_from) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION USING MESSAGE = 'the history of keys is kept: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER federation_registry_key_history BEFORE UPDATE OR DELETE ON federation_registry_key
  FOR EACH ROW EXECUTE FUNCTION federation_keep_history();

CREATE OR REPLACE TRIGGER federation_registry_key_kept BEFORE TRUNCATE ON federation_registry_key
  FOR EACH STATEMENT EXECUTE FUNCTION federation_keep_history();
