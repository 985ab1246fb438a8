-- Visits to the hosts of agents, planned with every card that is written: each has a job.

-- host:port of a URL, in lower case: one visit at a time is made there.
CREATE OR REPLACE FUNCTION catalogue_place(url text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT left(lower(substring(url FROM '^[A-Za-z]+://([^/?#]+)')), 300)
$$;

-- The kind of the jobs that make visits of an errand.
CREATE OR REPLACE FUNCTION catalogue_visit_kind(errand text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE errand WHEN 'pull' THEN 'card pull' ELSE 'health check' END
$$;

-- A complete card is visited a minute later, a stub at once.
CREATE OR REPLACE FUNCTION catalogue_plan_visits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalogue_visit (card_id, errand, place)
  SELECT c.id, e.errand, catalogue_place(CASE e.errand WHEN 'pull'
      THEN coalesce(c.host, c.card_data -> 'supportedInterfaces' -> 0 ->> 'url')
      ELSE c.card_data -> 'supportedInterfaces' -> 0 ->> 'url' END)
  FROM written c, (VALUES ('pull'), ('liveness')) AS e (errand)
  WHERE c.source_registry IS NULL AND c.did IS NOT NULL;
  PERFORM plumbing_enqueue(catalogue_visit_kind(v.errand), '{}', array_agg(v.card_id::text),
    array_agg(now() + CASE WHEN c.is_stub THEN 0 ELSE 60 END * interval '1 second'),
    array_agg(v.place), array_agg(false))
  FROM written c JOIN catalogue_visit v ON v.card_id = c.id GROUP BY v.errand;
  RETURN NULL;
END $$;

-- Observations at one address do not apply to another one.
CREATE OR REPLACE FUNCTION catalogue_forget_observed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.host_verified_at := NULL;
  NEW.liveness := 'unknown';
  NEW.liveness_checked_at := NULL;
  NEW.last_alive_at := NULL;
  UPDATE catalogue_visit SET place = catalogue_place(CASE errand WHEN 'pull'
      THEN coalesce(NEW.host, NEW.card_data -> 'supportedInterfaces' -> 0 ->> 'url')
      ELSE NEW.card_data -> 'supportedInterfaces' -> 0 ->> 'url' END)
  WHERE card_id = NEW.id;
  PERFORM plumbing_enqueue(catalogue_visit_kind(v.errand), '{}', ARRAY[v.card_id::text], ARRAY[now()],
    ARRAY[v.place], ARRAY[v.failures > 0])
  FROM catalogue_visit v WHERE v.card_id = NEW.id ORDER BY v.errand;
  RETURN NEW;
END $$;
