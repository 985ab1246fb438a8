-- Visits to the hosts of agents, planned with every card that is written.

-- host:port of a URL, in lower case: one visit at a time is made there.
CREATE OR REPLACE FUNCTION catalogue_place(url text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT left(lower(substring(url FROM '^[A-Za-z]+://([^/?#]+)')), 300)
$$;

-- A complete card is visited a minute later, a stub at once.
CREATE OR REPLACE FUNCTION catalogue_plan_visits() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- Observations at one address do not apply to another one.
CREATE OR REPLACE FUNCTION catalogue_forget_observed() RETURNS trigger LANGUAGE plpgsql AS $$
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
