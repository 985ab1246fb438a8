-- The journal is append-only. Partitions have a trigger of their own (partitions.sql).

CREATE OR REPLACE FUNCTION journal_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'the journal is append-only: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER journal_transfer_terms_final BEFORE UPDATE OR DELETE OR TRUNCATE ON journal_transfer_terms
  FOR EACH STATEMENT EXECUTE FUNCTION journal_refuse_change();

CREATE OR REPLACE TRIGGER journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON journal_event
  FOR EACH STATEMENT EXECUTE FUNCTION journal_refuse_change();
