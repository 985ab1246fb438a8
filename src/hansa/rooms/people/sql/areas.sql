-- Administration areas of developers, for the functions of other rooms.

-- Whether the developer has an area of the administration.
CREATE OR REPLACE FUNCTION people_has_area(developer bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM people_developer WHERE id = developer AND areas <> '{}')
$$;
