-- The triggers of the cards, apart from their functions: a changed function then takes no lock on the table.
-- after: catalogue/marks.sql
-- after: catalogue/visits.sql
-- after: catalogue/classes.sql

CREATE OR REPLACE TRIGGER catalogue_card_changed BEFORE INSERT OR UPDATE OF did, human_readable_id, name, description, card_data,
  encircled, is_stub, is_active, status, unlisted, settlement_currency, trust_domain, source_registry, track_record,
  bond_state, bond_amount, flare_corner, flare_encirclement, flare_overlay
  ON catalogue_card FOR EACH ROW EXECUTE FUNCTION catalogue_mark_change();

CREATE OR REPLACE TRIGGER catalogue_card_search BEFORE INSERT OR UPDATE OF did, human_readable_id, name, description, card_data,
  encircled, is_stub, is_active, status, unlisted, settlement_currency, trust_domain, source_registry, liveness,
  last_alive_at, host_verified_at, signature_verified_at, verified_jobs, bonded,
  agent_score
  ON catalogue_card FOR EACH ROW EXECUTE FUNCTION catalogue_mark_search();

CREATE OR REPLACE TRIGGER catalogue_card_hidden BEFORE INSERT OR UPDATE OF is_active, unlisted, status
  ON catalogue_card FOR EACH ROW EXECUTE FUNCTION catalogue_mark_hidden();

CREATE OR REPLACE TRIGGER catalogue_card_visits AFTER INSERT ON catalogue_card
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION catalogue_plan_visits();

CREATE OR REPLACE TRIGGER catalogue_card_moved BEFORE UPDATE OF host, card_data ON catalogue_card FOR EACH ROW
  WHEN (NEW.source_registry IS NULL AND (OLD.host IS DISTINCT FROM NEW.host
    OR (OLD.card_data -> 'supportedInterfaces')::text IS DISTINCT FROM (NEW.card_data -> 'supportedInterfaces')::text))
  EXECUTE FUNCTION catalogue_forget_observed();

CREATE OR REPLACE TRIGGER catalogue_card_count_written AFTER INSERT ON catalogue_card
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION catalogue_count_written();

CREATE OR REPLACE TRIGGER catalogue_card_count_erased AFTER DELETE ON catalogue_card
  REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION catalogue_count_erased();

CREATE OR REPLACE TRIGGER catalogue_card_note_deleted AFTER DELETE ON catalogue_card
  REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION catalogue_note_deleted();

CREATE OR REPLACE TRIGGER catalogue_card_count_changed AFTER UPDATE OF is_active, unlisted, status, source_registry,
  settlement_currency, tee_type, encircled ON catalogue_card FOR EACH ROW
  WHEN ((OLD.is_active, OLD.unlisted, OLD.status, OLD.source_registry, OLD.settlement_currency, OLD.tee_type, OLD.encircled)
    IS DISTINCT FROM
    (NEW.is_active, NEW.unlisted, NEW.status, NEW.source_registry, NEW.settlement_currency, NEW.tee_type, NEW.encircled))
  EXECUTE FUNCTION catalogue_count_changed();

CREATE OR REPLACE TRIGGER catalogue_card_imported AFTER UPDATE OF mcp_name ON catalogue_card FOR EACH ROW
  WHEN (NEW.mcp_name IS NOT NULL) EXECUTE FUNCTION catalogue_plan_imported();

CREATE OR REPLACE TRIGGER catalogue_card_protocols BEFORE INSERT OR UPDATE OF card_data ON catalogue_card
  FOR EACH ROW EXECUTE FUNCTION catalogue_mark_protocols();
