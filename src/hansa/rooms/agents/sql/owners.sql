-- Owners and statuses of agents, for the functions of other rooms. In plpgsql, because there their plans are cached.

-- The developer who owns the agent of this registry; null: there is none.
CREATE OR REPLACE FUNCTION agents_owner(agent text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT developer_id FROM agents_agent WHERE did = agent);
END $$;

-- The status of the agent of this registry; null: there is none.
CREATE OR REPLACE FUNCTION agents_status(agent text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT status FROM agents_agent WHERE did = agent);
END $$;

-- Owner and status of the agent of this registry; no row: there is none. It becomes part of the query that reads it, which
-- costs a third of a call for each agent.
CREATE OR REPLACE FUNCTION agents_known(agent text) RETURNS TABLE (developer_id bigint, status text)
LANGUAGE sql STABLE AS $$
  SELECT a.developer_id, a.status FROM agents_agent a WHERE a.did = agent
$$;
