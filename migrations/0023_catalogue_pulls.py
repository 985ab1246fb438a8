"""Catalogue: pulls of the cards that agents serve themselves."""

from alembic import op

revision = "0023"
down_revision = "0022"

SQL = """
-- What is to be asked of an agent's own host, and how that went: its card (pull), a sign of life (liveness).
-- Narrow and beside the card: a visit that finds nothing new must not rewrite the document.
CREATE TABLE catalogue_visit (
  card_id bigint NOT NULL REFERENCES catalogue_card ON DELETE CASCADE,
  errand text NOT NULL CHECK (errand IN ('pull', 'liveness')),
  -- host:port as the card spells it: one visit at a time is made there.
  place text,
  -- When the next visit is due; while one is under way, when its lease ends.
  due_at timestamptz NOT NULL DEFAULT now(),
  lease uuid,
  failures int NOT NULL DEFAULT 0 CHECK (failures >= 0),
  attempted_at timestamptz,
  outcome text CHECK (length(outcome) <= 32),
  trouble text CHECK (length(trouble) <= 300),
  -- Of a pull: the address that the card was found at, and what was found there.
  found_at text,
  etag text CHECK (length(etag) <= 256),
  served_hash bytea CHECK (length(served_hash) = 32),
  served_members text[] NOT NULL DEFAULT '{}',
  -- The version of the card that is what its host serves.
  served_version int,
  PRIMARY KEY (card_id, errand)
) WITH (fillfactor = 70);
CREATE INDEX catalogue_visit_due ON catalogue_visit (errand, due_at) WHERE failures = 0;
CREATE INDEX catalogue_visit_due_again ON catalogue_visit (errand, due_at) WHERE failures > 0;
CREATE INDEX catalogue_visit_under_way ON catalogue_visit (place) WHERE lease IS NOT NULL;

CREATE FUNCTION catalogue_place(url text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT left(lower(substring(url FROM '^[A-Za-z]+://([^/?#]+)')), 300)
$$;

-- Every writer of a card, however many it writes, plans the visits of it. An owner's whole card is in no hurry.
CREATE FUNCTION catalogue_plan_visits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalogue_visit (card_id, errand, place, due_at)
  SELECT c.id, e.errand, catalogue_place(CASE e.errand WHEN 'pull'
      THEN coalesce(c.host, c.card_data -> 'supportedInterfaces' -> 0 ->> 'url')
      ELSE c.card_data -> 'supportedInterfaces' -> 0 ->> 'url' END),
    now() + CASE WHEN c.is_stub THEN 0 ELSE 60 END * interval '1 second'
  FROM written c, (VALUES ('pull'), ('liveness')) AS e (errand)
  WHERE c.source_registry IS NULL AND c.did IS NOT NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER catalogue_card_visits AFTER INSERT ON catalogue_card
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION catalogue_plan_visits();

-- What was observed at one address says nothing of another one.
CREATE FUNCTION catalogue_forget_observed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.host_verified_at := NULL;
  NEW.liveness := 'unknown';
  NEW.liveness_checked_at := NULL;
  NEW.last_alive_at := NULL;
  UPDATE catalogue_visit SET due_at = now(), place = catalogue_place(CASE errand WHEN 'pull'
      THEN coalesce(NEW.host, NEW.card_data -> 'supportedInterfaces' -> 0 ->> 'url')
      ELSE NEW.card_data -> 'supportedInterfaces' -> 0 ->> 'url' END)
  WHERE card_id = NEW.id;
  RETURN NEW;
END $$;
CREATE TRIGGER catalogue_card_moved BEFORE UPDATE OF host, card_data ON catalogue_card FOR EACH ROW
  WHEN (NEW.source_registry IS NULL AND (OLD.host IS DISTINCT FROM NEW.host
    OR (OLD.card_data -> 'supportedInterfaces')::text IS DISTINCT FROM (NEW.card_data -> 'supportedInterfaces')::text))
  EXECUTE FUNCTION catalogue_forget_observed();

INSERT INTO catalogue_visit (card_id, errand, place)
SELECT c.id, e.errand, catalogue_place(coalesce(c.host, c.card_data -> 'supportedInterfaces' -> 0 ->> 'url'))
FROM catalogue_card c, (VALUES ('pull'), ('liveness')) AS e (errand)
WHERE c.source_registry IS NULL AND c.did IS NOT NULL AND c.status <> 'revoked';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)
