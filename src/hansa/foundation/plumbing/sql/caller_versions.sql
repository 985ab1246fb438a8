-- Versions of callers: a process acts on what it read of a caller before, and the transaction compares the version.

-- Note the version that a caller has from the commit of this transaction on; each is higher than the one before.
CREATE OR REPLACE FUNCTION plumbing_note_caller_version(changed text, new_version int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO plumbing_caller_version (caller, version) VALUES (changed, new_version)
  ON CONFLICT (caller) DO UPDATE SET version = EXCLUDED.version;
END $$;

-- The places of the callers that have another version than the one that was read; a null version is not compared. It becomes
-- part of the query that reads it.
CREATE OR REPLACE FUNCTION plumbing_changed_callers(callers text[], versions int[]) RETURNS TABLE (place bigint)
LANGUAGE sql STABLE AS $$
  SELECT c.place FROM unnest(callers, versions) WITH ORDINALITY AS c (caller, version, place)
  LEFT JOIN plumbing_caller_version v ON v.caller = c.caller WHERE c.version <> coalesce(v.version, 0)
$$;
