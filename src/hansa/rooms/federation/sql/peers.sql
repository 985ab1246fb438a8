-- Listeners compare the version with the one whose roots they hold. The row is locked last, and for a moment only.

CREATE OR REPLACE FUNCTION federation_count_trust_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE federation_trust SET version = version + 1;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER federation_peer_trust_added_or_removed AFTER INSERT OR DELETE ON federation_peer
  FOR EACH ROW EXECUTE FUNCTION federation_count_trust_change();

CREATE OR REPLACE TRIGGER federation_peer_trust_changed AFTER UPDATE ON federation_peer
  FOR EACH ROW WHEN ((OLD.bundle_sha256, OLD.approval, OLD.removing)
    IS DISTINCT FROM (NEW.bundle_sha256, NEW.approval, NEW.removing))
  EXECUTE FUNCTION federation_count_trust_change();
