-- Rights of developers at agents: 1 read, 2 operate, 3 manage, 4 end; each includes those below it. These functions alone compare
-- the owner of an agent with a developer. They become part of the query that calls them.

-- The right of a developer at an agent of an organization, 0: none. Nobody acts as a treasury. The room of organizations states it by
-- a function that is looked up at the call (decision 0248).
CREATE OR REPLACE FUNCTION agents_right_in_organization(asking bigint, organization uuid, agent text, kind text)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
  held CONSTANT integer := organizations_right(asking, organization, agent);
BEGIN
  RETURN CASE WHEN kind = 'treasury' THEN least(held, 1) ELSE held END;
END $$;

-- The right of a developer at an agent; 0: none.
CREATE OR REPLACE FUNCTION agents_right(asking bigint, agent agents_agent) RETURNS integer
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN agent.organization_id IS NOT NULL
    THEN agents_right_in_organization(asking, agent.organization_id, agent.did, agent.kind)
    WHEN agent.developer_id = asking THEN 4 ELSE 0 END
$$;

-- The right of a developer at an agent of an organization for an act: the membership does not change before the transaction ends.
CREATE OR REPLACE FUNCTION agents_held_right(asking bigint, agent text) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  held integer;
BEGIN
  SELECT CASE WHEN a.kind = 'treasury' THEN least(r.held, 1) ELSE r.held END INTO held
  FROM agents_agent a, LATERAL (SELECT organizations_held_right(asking, a.organization_id, a.did) AS held) r
  WHERE a.did = agent AND a.organization_id IS NOT NULL;
  RETURN coalesce(held, 0);
END $$;

-- The agents that a developer owns, in any status.
CREATE OR REPLACE FUNCTION agents_owned(asking bigint) RETURNS SETOF agents_agent
LANGUAGE sql STABLE AS $$
  SELECT * FROM agents_agent a WHERE a.developer_id = asking AND a.organization_id IS NULL
$$;

-- The agents that a developer manages, in any status.
CREATE OR REPLACE FUNCTION agents_managed(asking bigint) RETURNS SETOF agents_agent
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT * FROM agents_owned(asking)
    UNION ALL
    SELECT a.* FROM organizations_of(asking) o JOIN agents_agent a ON a.organization_id = o.id
    WHERE agents_right(asking, a) >= 3;
END $$;

-- The agents of an organization and its treasury, in any status.
CREATE OR REPLACE FUNCTION agents_of_organization(organization uuid) RETURNS TABLE (did text, kind text)
LANGUAGE sql STABLE AS $$
  SELECT a.did, a.kind FROM agents_agent a WHERE a.organization_id = organization
$$;

-- The developers who may read each of these agents.
CREATE OR REPLACE FUNCTION agents_readers(dids text[]) RETURNS TABLE (agent text, developer bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT a.did, a.developer_id FROM agents_agent a
      WHERE a.did = ANY (dids) AND a.organization_id IS NULL
    UNION ALL
    SELECT a.did, m.developer_id FROM agents_agent a, organizations_members(a.organization_id) m
      WHERE a.did = ANY (dids) AND a.organization_id IS NOT NULL;
END $$;

-- Whether the affiliations of two owners intersect, of which one at least is an organization or both are different developers.
CREATE OR REPLACE FUNCTION agents_affiliated(
  developer_of_one bigint, organization_of_one uuid, developer_of_other bigint, organization_of_other uuid
) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN organizations_affiliated(developer_of_one, organization_of_one, developer_of_other, organization_of_other);
END $$;

-- An owner of the organization who administers the registry; null: none does.
CREATE OR REPLACE FUNCTION agents_administrator(organization uuid) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN organizations_administrator(organization);
END $$;

-- The developers of two agents of this registry, and whether the agents are related: of one owner, or of affiliated ones. For an agent
-- of an organization the developer is an owner of it who administers the registry, or null. No row: one of the agents is not here.
CREATE OR REPLACE FUNCTION agents_related(one text, other text)
RETURNS TABLE (developer_of_one bigint, developer_of_other bigint, related boolean)
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN a.organization_id IS NULL THEN a.developer_id ELSE agents_administrator(a.organization_id) END,
    CASE WHEN b.organization_id IS NULL THEN b.developer_id ELSE agents_administrator(b.organization_id) END,
    CASE WHEN a.organization_id IS NULL AND b.organization_id IS NULL AND a.developer_id = b.developer_id THEN true
      ELSE agents_affiliated(a.developer_id, a.organization_id, b.developer_id, b.organization_id) END
  FROM agents_agent a, agents_agent b WHERE a.did = one AND b.did = other
$$;

-- The agents that are related to those of an organization, in any status; its own are among them.
CREATE OR REPLACE FUNCTION agents_related_to_organization(organization uuid) RETURNS SETOF text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT a.did FROM organizations_affiliates(organization) f JOIN agents_agent a
      ON a.organization_id IS NULL AND a.developer_id = f.developer_id
    UNION ALL
    SELECT a.did FROM organizations_affiliates(organization) f JOIN agents_agent a ON a.organization_id = f.organization_id;
END $$;

-- The owner of an agent of this registry; no row: there is none. `organization_id` stands above `developer_id`.
CREATE OR REPLACE FUNCTION agents_ownership(agent text) RETURNS TABLE (developer_id bigint, organization_id uuid)
LANGUAGE sql STABLE AS $$
  SELECT a.developer_id, a.organization_id FROM agents_agent a WHERE a.did = agent
$$;
