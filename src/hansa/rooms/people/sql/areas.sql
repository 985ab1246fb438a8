-- Facts about developers, for the functions and queries of other rooms.

-- Whether the developer has an area of the administration. In plpgsql, because there its plan is cached.
CREATE OR REPLACE FUNCTION people_has_area(developer bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM people_developer WHERE id = developer AND areas <> '{}');
END $$;

-- A row where the developer has an area of the administration. It becomes part of the query that reads it.
CREATE OR REPLACE FUNCTION people_administrator(developer bigint) RETURNS TABLE (id bigint)
LANGUAGE sql STABLE AS $$
  SELECT d.id FROM people_developer d WHERE d.id = developer AND d.areas <> '{}'
$$;

-- The developer with this e-mail address, given in lower case; null: none.
CREATE OR REPLACE FUNCTION people_developer_at(address text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT id FROM people_developer WHERE lower(email COLLATE "C") = address);
END $$;
