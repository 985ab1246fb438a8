-- Owners and statuses of agents, for the functions of other rooms.

-- The developer who owns the agent of this registry; null: there is none.
CREATE OR REPLACE FUNCTION agents_owner(agent text) RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT developer_id FROM agents_agent WHERE did = agent
$$;

-- The status of the agent of this registry; null: there is none.
CREATE OR REPLACE FUNCTION agents_status(agent text) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT status FROM agents_agent WHERE did = agent
$$;
