-- Every signed version of the registry card is kept: the log proves it, and its signature stays verifiable.

CREATE OR REPLACE FUNCTION federation_keep_card_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'versions of the registry card are kept: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER federation_registry_card_version_kept
  BEFORE UPDATE OR DELETE ON federation_registry_card_version
  FOR EACH ROW EXECUTE FUNCTION federation_keep_card_versions();

CREATE OR REPLACE TRIGGER federation_registry_card_version_not_truncated
  BEFORE TRUNCATE ON federation_registry_card_version
  FOR EACH STATEMENT EXECUTE FUNCTION federation_keep_card_versions();
