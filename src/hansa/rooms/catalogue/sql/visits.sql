-- Visits to the hosts of agents, planned with every card that is written: each has a job.

-- host:port of a URL, in lower case: one visit at a time is made there.
CREATE OR REPLACE FUNCTION catalogue_place(url text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT left(lower(substring(url FROM '^[A-Za-z]+://([^/?#]+)')), 300)
$$;

-- The kind of the jobs that make visits of an errand.
CREATE OR REPLACE FUNCTION catalogue_visit_kind(errand text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE errand WHEN 'pull' THEN 'card pull' WHEN 'namespace' THEN 'namespace proof' ELSE 'health check' END
$$;

-- Place of a visit: that of the host which the owner named, of the first interface, or the domain of a namespace.
CREATE OR REPLACE FUNCTION catalogue_visited(errand text, host text, card_data json, mcp_name text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE errand WHEN 'namespace' THEN (SELECT left(lower(string_agg(label, '.' ORDER BY place DESC)), 300)
      FROM string_to_table(split_part(mcp_name, '/', 1), '.') WITH ORDINALITY AS labels (label, place))
    WHEN 'pull' THEN catalogue_place(coalesce(host, card_data -> 'supportedInterfaces' -> 0 ->> 'url'))
    ELSE catalogue_place(card_data -> 'supportedInterfaces' -> 0 ->> 'url') END
$$;

-- A complete card is visited a minute later, a stub at once.
CREATE OR REPLACE FUNCTION catalogue_plan_visits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalogue_visit (card_id, errand, place)
  SELECT c.id, e.errand, catalogue_visited(e.errand, c.host, c.card_data, c.mcp_name)
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
  NEW.tools_checked_at := NULL;
  NEW.namespace_verified_at := NULL;
  UPDATE catalogue_visit SET place = catalogue_visited(errand, NEW.host, NEW.card_data, NEW.mcp_name)
  WHERE card_id = NEW.id;
  PERFORM plumbing_enqueue(catalogue_visit_kind(v.errand), '{}', ARRAY[v.card_id::text], ARRAY[now()],
    ARRAY[v.place], ARRAY[v.failures > 0])
  FROM catalogue_visit v WHERE v.card_id = NEW.id ORDER BY v.errand;
  RETURN NEW;
END $$;

-- An imported MCP server is called and its namespace looked up at once, also where the card belongs to no agent.
CREATE OR REPLACE FUNCTION catalogue_plan_imported() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalogue_visit (card_id, errand, place)
  SELECT NEW.id, errand, catalogue_visited(errand, NEW.host, NEW.card_data, NEW.mcp_name)
  FROM unnest(ARRAY['liveness', 'namespace']) AS errand
  ON CONFLICT (card_id, errand) DO UPDATE SET place = excluded.place;
  PERFORM plumbing_enqueue(catalogue_visit_kind(v.errand), '{}', ARRAY[v.card_id::text], ARRAY[now()],
    ARRAY[v.place], ARRAY[false])
  FROM catalogue_visit v WHERE v.card_id = NEW.id AND v.errand <> 'pull' ORDER BY v.errand;
  RETURN NULL;
END $$;
