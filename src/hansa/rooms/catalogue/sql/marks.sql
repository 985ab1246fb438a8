-- What every write of a card records in the card itself, so that no writer can leave it out.
-- after: plumbing/positions.sql

-- When the card changed, and in which transaction. Bookkeeping of pulls is not a change of the card.
CREATE OR REPLACE FUNCTION catalogue_mark_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := clock_timestamp();
  IF TG_OP = 'INSERT' THEN
    NEW.created_at := NEW.updated_at;
  END IF;
  NEW.changed_xid := plumbing_position();
  -- Peers compare versions: of two transactions the one with the higher number may be the first to change the card.
  NEW.item_version := NEW.changed_xid;
  IF TG_OP = 'UPDATE' THEN
    NEW.item_version := greatest(coalesce(OLD.item_version, OLD.changed_xid) + 1, NEW.changed_xid);
  END IF;
  IF coalesce(OLD.status, 'active') <> NEW.status THEN
    NEW.status_xid := NEW.changed_xid;
    NEW.status_version := NEW.item_version;
  END IF;
  RETURN NEW;
END $$;

-- The transaction that last changed what a search shows, observations included. Its texts then are not in the index of
-- listed texts: only the sweep sets `texts_sorted`.
CREATE OR REPLACE FUNCTION catalogue_mark_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.search_xid := plumbing_position();
  NEW.texts_sorted := false;
  RETURN NEW;
END $$;

-- Since when the card is in no public listing.
CREATE OR REPLACE FUNCTION catalogue_mark_hidden() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.is_active AND NOT NEW.unlisted AND NEW.status = 'active' THEN
    NEW.hidden_since := NULL;
  ELSIF TG_OP = 'INSERT' OR OLD.hidden_since IS NULL OR (NEW.status = 'revoked' AND OLD.status <> 'revoked') THEN
    NEW.hidden_since := clock_timestamp();
  END IF;
  RETURN NEW;
END $$;

-- Which cards are gone: a deleted row is in no reading of changes.
CREATE OR REPLACE FUNCTION catalogue_note_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalogue_card_deleted (card_id, position) SELECT id, plumbing_position() FROM erased;
  RETURN NULL;
END $$;

-- Protocols of the interfaces: that of an MCP server, and any other. A card without interfaces waits for those of an agent.
CREATE OR REPLACE FUNCTION catalogue_mark_protocols() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  interfaces json := NEW.card_data -> 'supportedInterfaces';
  servers int := 0;
  total int := 0;
BEGIN
  IF json_typeof(interfaces) = 'array' THEN
    SELECT count(*), count(*) FILTER (WHERE upper(i ->> 'protocolBinding') = 'MCP') INTO total, servers
    FROM json_array_elements(interfaces) AS i;
  END IF;
  NEW.speaks_mcp := servers > 0;
  NEW.speaks_a2a := servers < total OR total = 0;
  RETURN NEW;
END $$;
