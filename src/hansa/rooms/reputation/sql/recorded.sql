-- Last signal that is in the records of agents; rooms above follow the records by it.
CREATE OR REPLACE FUNCTION reputation_recorded() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT recorded FROM reputation_progress
$$;
