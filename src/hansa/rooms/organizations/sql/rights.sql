-- Rights of members at the agents of their organization, and kinship of agents.
-- after: agents/rights.sql
-- after: people/areas.sql

-- The right of a developer at an agent of the organization: 0 none, 1 read, 2 operate, 3 manage, 4 end. A member who is suspended,
-- or whose account is closed, has none; a viewer reads, whatever the teams; an admin has every right.
CREATE OR REPLACE FUNCTION organizations_right(asking bigint, organization uuid, agent text) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
  held smallint;
BEGIN
  SELECT m.role INTO held FROM organizations_member m
  WHERE m.organization_id = organization AND m.developer_id = asking AND m.role IS NOT NULL;
  IF held IS NULL OR plumbing_is_barred_author(asking) THEN
    RETURN 0;
  ELSIF held = 1 THEN
    RETURN 1;
  ELSIF held >= 3 THEN
    RETURN 4;
  END IF;
  RETURN greatest(1, (SELECT max(t.held_right)
    FROM organizations_team_member p JOIN organizations_team t ON t.id = p.team_id
      JOIN organizations_team_agent a ON a.team_id = t.id
    WHERE p.developer_id = asking AND t.organization_id = organization AND a.did = agent));
END $$;

-- The same for an act: the membership does not change before the transaction ends.
CREATE OR REPLACE FUNCTION organizations_held_right(asking bigint, organization uuid, agent text) RETURNS integer
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM organizations_member m WHERE m.organization_id = organization AND m.developer_id = asking FOR SHARE;
  RETURN organizations_right(asking, organization, agent);
END $$;

-- The accounts of organizations for which a developer acts: treasuries as an admin, agents by the right `operate`.
CREATE OR REPLACE FUNCTION organizations_acted_for(asking bigint)
RETURNS TABLE (did text, is_treasury boolean, slug text, organization text)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT a.did, a.kind = 'treasury', o.slug, o.name
    FROM organizations_member m JOIN organizations_organization o ON o.id = m.organization_id AND o.status = 'active'
      CROSS JOIN LATERAL agents_of_organization(o.id) a
    WHERE m.developer_id = asking AND m.role >= 2
      AND organizations_right(asking, o.id, a.did) >= CASE a.kind WHEN 'treasury' THEN 4 ELSE 2 END;
END $$;

-- The organizations of a developer.
CREATE OR REPLACE FUNCTION organizations_of(asking bigint) RETURNS TABLE (id uuid)
LANGUAGE sql STABLE AS $$
  SELECT m.organization_id FROM organizations_member m WHERE m.developer_id = asking AND m.role IS NOT NULL
$$;

-- The members of an organization.
CREATE OR REPLACE FUNCTION organizations_members(organization uuid) RETURNS TABLE (developer_id bigint)
LANGUAGE sql STABLE AS $$
  SELECT m.developer_id FROM organizations_member m WHERE m.organization_id = organization AND m.role IS NOT NULL
$$;

-- Whether everybody may read the organization.
CREATE OR REPLACE FUNCTION organizations_is_public(organization uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM organizations_organization o WHERE o.id = organization AND o.visibility = 'public')
$$;

-- An owner of the organization who has an area of the administration; null: none has.
CREATE OR REPLACE FUNCTION organizations_administrator(organization uuid) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT m.developer_id FROM organizations_member m WHERE m.organization_id = organization AND m.role = 4
    AND people_has_area(m.developer_id) LIMIT 1);
END $$;

-- Whether the affiliations of two owners intersect: an organization is affiliated with its members, a developer with his
-- organizations, each until 90 days after the membership ended.
CREATE OR REPLACE FUNCTION organizations_affiliated(
  developer_of_one bigint, organization_of_one uuid, developer_of_other bigint, organization_of_other uuid
) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  since CONSTANT timestamptz := now() - interval '90 days';
BEGIN
  IF organization_of_one IS NULL AND organization_of_other IS NULL THEN
    RETURN EXISTS (SELECT FROM organizations_member m JOIN organizations_member n USING (organization_id)
      WHERE m.developer_id = developer_of_one AND n.developer_id = developer_of_other
        AND coalesce(m.left_at, 'infinity') > since AND coalesce(n.left_at, 'infinity') > since);
  ELSIF organization_of_one IS NULL THEN
    RETURN EXISTS (SELECT FROM organizations_member m WHERE m.organization_id = organization_of_other
      AND m.developer_id = developer_of_one AND coalesce(m.left_at, 'infinity') > since);
  ELSIF organization_of_other IS NULL THEN
    RETURN organizations_affiliated(developer_of_other, NULL, NULL, organization_of_one);
  END IF;
  RETURN organization_of_one = organization_of_other OR EXISTS (
    SELECT FROM organizations_member m JOIN organizations_member n USING (developer_id)
    WHERE m.organization_id = organization_of_one AND n.organization_id = organization_of_other
      AND coalesce(m.left_at, 'infinity') > since AND coalesce(n.left_at, 'infinity') > since);
END $$;

-- The owners with which an organization is affiliated: its members, itself, and the organizations of its members.
CREATE OR REPLACE FUNCTION organizations_affiliates(organization uuid) RETURNS TABLE (developer_id bigint, organization_id uuid)
LANGUAGE sql STABLE AS $$
  WITH member AS (
    SELECT m.developer_id FROM organizations_member m
    WHERE m.organization_id = organization AND coalesce(m.left_at, 'infinity') > now() - interval '90 days'
  )
  SELECT m.developer_id, NULL::uuid FROM member m
  UNION ALL SELECT NULL, organization
  UNION ALL (
    SELECT DISTINCT NULL::bigint, n.organization_id FROM member m JOIN organizations_member n USING (developer_id)
    WHERE n.organization_id <> organization AND coalesce(n.left_at, 'infinity') > now() - interval '90 days'
  )
$$;
