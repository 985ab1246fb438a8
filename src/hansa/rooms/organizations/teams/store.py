"""The SQL of teams. Every change holds the row of the organization."""

from uuid import UUID, uuid4

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.organizations.records import Team

_TEAMS = """
SELECT t.id, t.slug, t.held_right, t.created_at,
  ARRAY(SELECT p.developer_id FROM organizations_team_member p WHERE p.team_id = t.id ORDER BY 1) AS members,
  ARRAY(SELECT a.did FROM organizations_team_agent a WHERE a.team_id = t.id ORDER BY 1) AS agents
FROM organizations_team t WHERE t.organization_id = $1 AND ($2::text IS NULL OR t.slug = $2) ORDER BY t.slug
"""

_INSERT = """
INSERT INTO organizations_team (id, organization_id, slug, held_right) VALUES ($1, $2, $3, $4)
ON CONFLICT (organization_id, slug) DO NOTHING RETURNING true
"""

_ADD_MEMBER = """
INSERT INTO organizations_team_member (team_id, developer_id)
SELECT t.id, $3 FROM organizations_team t WHERE t.id = $2 AND t.organization_id = $1 ON CONFLICT DO NOTHING
"""


async def teams_of(tx: Tx, organization_id: UUID) -> list[Team]:
    """Every team of an organization, by slug."""
    return [_team(row) for row in await tx.fetch(_TEAMS, organization_id, None)]


async def find(tx: Tx, organization_id: UUID, slug: str) -> Team | None:
    """The team with this slug."""
    row = await tx.fetchrow(_TEAMS, organization_id, slug)
    return None if row is None else _team(row)


async def insert(tx: Tx, organization_id: UUID, slug: str, held_right: int) -> bool:
    """Write a team; False when the organization has one with this slug."""
    return bool(await tx.fetchval(_INSERT, uuid4(), organization_id, slug, held_right))


async def set_right(tx: Tx, team_id: UUID, held_right: int) -> None:
    """Write the right of a team at its agents."""
    await tx.execute("UPDATE organizations_team SET held_right = $2 WHERE id = $1", team_id, held_right)


async def delete(tx: Tx, team_id: UUID) -> None:
    """Delete a team with its places."""
    await tx.execute("DELETE FROM organizations_team WHERE id = $1", team_id)


async def delete_all(tx: Tx, organization_id: UUID) -> None:
    """Delete every team of a locked organization."""
    await tx.execute("DELETE FROM organizations_team WHERE organization_id = $1", organization_id)


async def add_member_to(tx: Tx, organization_id: UUID, team_id: UUID, developer_id: int) -> None:
    """Give a member a place in a team of the organization, if there is such a team."""
    await tx.execute(_ADD_MEMBER, organization_id, team_id, developer_id)


async def remove_member(tx: Tx, team_id: UUID, developer_id: int) -> bool:
    """Take the place of a member away; False where there is none."""
    deleted = await tx.execute(
        "DELETE FROM organizations_team_member WHERE team_id = $1 AND developer_id = $2",
        team_id,
        developer_id,
    )
    return bool(deleted == "DELETE 1")


async def forget_agent(tx: Tx, did: str) -> None:
    """Take an agent from every team: one that comes back begins without the rights of before."""
    await tx.execute("DELETE FROM organizations_team_agent WHERE did = $1", did)


async def copy_places(tx: Tx, did: str, new_did: str) -> None:
    """Give a new agent the places of another in the teams."""
    await tx.execute(
        "INSERT INTO organizations_team_agent (team_id, did) SELECT team_id, $2 FROM organizations_team_agent WHERE did = $1",
        did,
        new_did,
    )


async def add_agent(tx: Tx, team_id: UUID, did: str) -> None:
    """Give a team its right at an agent."""
    await tx.execute(
        "INSERT INTO organizations_team_agent (team_id, did) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        team_id,
        did,
    )


async def remove_agent(tx: Tx, team_id: UUID, did: str) -> bool:
    """Take the right of a team at an agent away; False where there is none."""
    deleted = await tx.execute(
        "DELETE FROM organizations_team_agent WHERE team_id = $1 AND did = $2", team_id, did
    )
    return bool(deleted == "DELETE 1")


def _team(row: asyncpg.Record) -> Team:
    return Team(**{**row, "members": tuple(row["members"]), "agents": tuple(row["agents"])})
