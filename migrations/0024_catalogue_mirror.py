"""Catalogue: mirrored cards, and what keeps lists of a million cards quick."""

from alembic import op

revision = "0024"
down_revision = "0023"

SQL = """
-- The version of a mirrored card at its home; an older one never replaces it.
ALTER TABLE catalogue_card ADD peer_version bigint CHECK (peer_version >= 0),
  -- Whether the index of listed texts has this row: it is half of the work of writing a card, and a sweep does it.
  ADD texts_sorted boolean NOT NULL DEFAULT false;
CREATE INDEX catalogue_card_texts_unsorted ON catalogue_card (id) WHERE NOT texts_sorted;
-- How rare a word is, the planner would not learn from an index of some of the cards.
CREATE STATISTICS catalogue_card_listed_words ON (name_text || chr(31) || description_text) FROM catalogue_card;
-- Whatever makes new entries in the indexes: the sweep alone writes `texts_sorted`.
CREATE OR REPLACE FUNCTION catalogue_mark_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.search_xid := pg_current_xact_id()::text::bigint;
  NEW.texts_sorted := false;
  RETURN NEW;
END $$;
CREATE INDEX catalogue_card_of_peer ON catalogue_card (source_registry) WHERE source_registry IS NOT NULL;

-- A page far down a list is found in an index alone, with mirrors or without.
CREATE INDEX catalogue_card_shown_anywhere ON catalogue_card (id)
  WHERE is_active AND NOT unlisted AND status = 'active';
CREATE INDEX catalogue_card_tee ON catalogue_card (tee_type, id) WHERE tee_type IS NOT NULL;
CREATE INDEX catalogue_card_enclave ON catalogue_card (id) WHERE tee_type IS NOT NULL;
CREATE INDEX catalogue_card_encircled ON catalogue_card (id) WHERE encircled;

-- How many listed cards there are of each class; a class may have several rows, whose sum counts. Writers only ever
-- add rows, so they never wait for each other; a sweep sums them up. The columns are named as those of a card, so that
-- a condition on cards can be put to classes.
CREATE TABLE catalogue_card_class (
  is_active boolean NOT NULL,
  source_registry text,
  settlement_currency text NOT NULL,
  tee_type text,
  encircled boolean NOT NULL,
  cards bigint NOT NULL
);
-- Of a mirror's home and of a kind of enclave the class only says that there is one: peers may invent any number.
CREATE FUNCTION catalogue_one(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN value IS NOT NULL THEN '' END
$$;

CREATE FUNCTION catalogue_count_written() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalogue_card_class
  SELECT is_active, catalogue_one(source_registry), settlement_currency, catalogue_one(tee_type), encircled, count(*)
  FROM written WHERE NOT unlisted AND status = 'active' GROUP BY 1, 2, 3, 4, 5;
  RETURN NULL;
END $$;
CREATE TRIGGER catalogue_card_count_written AFTER INSERT ON catalogue_card
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION catalogue_count_written();

CREATE FUNCTION catalogue_count_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalogue_card_class
  SELECT is_active, catalogue_one(source_registry), settlement_currency, catalogue_one(tee_type), encircled, -count(*)
  FROM erased WHERE NOT unlisted AND status = 'active' GROUP BY 1, 2, 3, 4, 5;
  RETURN NULL;
END $$;
CREATE TRIGGER catalogue_card_count_erased AFTER DELETE ON catalogue_card
  REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION catalogue_count_erased();

CREATE FUNCTION catalogue_count_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT OLD.unlisted AND OLD.status = 'active' THEN
    INSERT INTO catalogue_card_class VALUES (OLD.is_active, catalogue_one(OLD.source_registry),
      OLD.settlement_currency, catalogue_one(OLD.tee_type), OLD.encircled, -1);
  END IF;
  IF NOT NEW.unlisted AND NEW.status = 'active' THEN
    INSERT INTO catalogue_card_class VALUES (NEW.is_active, catalogue_one(NEW.source_registry),
      NEW.settlement_currency, catalogue_one(NEW.tee_type), NEW.encircled, 1);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER catalogue_card_count_changed AFTER UPDATE OF is_active, unlisted, status, source_registry,
  settlement_currency, tee_type, encircled ON catalogue_card FOR EACH ROW
  WHEN ((OLD.is_active, OLD.unlisted, OLD.status, OLD.source_registry, OLD.settlement_currency, OLD.tee_type, OLD.encircled)
    IS DISTINCT FROM
    (NEW.is_active, NEW.unlisted, NEW.status, NEW.source_registry, NEW.settlement_currency, NEW.tee_type, NEW.encircled))
  EXECUTE FUNCTION catalogue_count_changed();

INSERT INTO catalogue_card_class
SELECT is_active, catalogue_one(source_registry), settlement_currency, catalogue_one(tee_type), encircled, count(*)
FROM catalogue_card WHERE NOT unlisted AND status = 'active' GROUP BY 1, 2, 3, 4, 5;
"""

# Lists search in names and descriptions. The index of all texts took three quarters of the time of writing a card, and
# this one half of it: it takes a card in when a sweep says so. What it takes in waits in a list of its own and is sorted
# in by the sweep as well, so that nobody who searches or writes pays for many others.
TRIGRAMS = """
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
    CREATE INDEX catalogue_card_listed_text ON catalogue_card
      USING gin ((name_text || chr(31) || description_text) gin_trgm_ops) WITH (gin_pending_list_limit = 524288)
      WHERE texts_sorted;
  END IF;
END $$;
-- Searches of all texts ask an index of their own.
ALTER TABLE catalogue_card DROP COLUMN found_text;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
    op.get_bind().exec_driver_sql(TRIGRAMS)
