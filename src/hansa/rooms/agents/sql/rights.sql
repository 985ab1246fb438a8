-- Rights of developers at agents: 1 read, 2 operate, 3 manage, 4 end; each includes those below it. These functions alone compare
-- the owner of an agent with a developer. They become part of the query that calls them.

-- The right of a developer at an agent; 0: none.
CREATE OR REPLACE FUNCTION agents_right(asking bigint, agent agents_agent) RETURNS integer
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN agent.developer_id = asking THEN 4 ELSE 0 END
$$;

-- The agents that a developer owns, in any status.
CREATE OR REPLACE FUNCTION agents_owned(asking bigint) RETURNS SETOF agents_agent
LANGUAGE sql STABLE AS $$
  SELECT * FROM agents_agent a WHERE a.developer_id = asking
$$;

-- The developers of two agents of this registry, and whether the agents are related: of one owner. No row: one of them is not here.
CREATE OR REPLACE FUNCTION agents_related(one text, other text)
RETURNS TABLE (developer_of_one bigint, developer_of_other bigint, related boolean)
LANGUAGE sql STABLE AS $$
  SELECT a.developer_id, b.developer_id, a.developer_id = b.developer_id
  FROM agents_agent a, agents_agent b WHERE a.did = one AND b.did = other
$$;
