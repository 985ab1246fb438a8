"""The SQL of organizations and of their members.

Locks: the organization's row comes first; every change of its members, teams, agents and requests holds it.
"""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total

from .records import Organization
from .rules import Role

_COLUMNS = """
o.id, o.slug, o.name, o.description, o.visibility, o.treasury_did, o.status, o.created_at, m.role
FROM organizations_organization o
LEFT JOIN organizations_member m ON m.organization_id = o.id AND m.developer_id = $2
"""

_INSERT = """
INSERT INTO organizations_organization (id, slug, skeleton, name, description, visibility, treasury_did, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""

_OF_DEVELOPER = with_total(
    """
SELECT o.id, o.slug, o.name, o.description, o.visibility, o.treasury_did, o.status, o.created_at, m.role
FROM organizations_member m JOIN organizations_organization o ON o.id = m.organization_id
WHERE m.developer_id = $1 AND m.role IS NOT NULL ORDER BY o.created_at, o.id LIMIT $2 OFFSET $3
""",
    "SELECT count(*) FROM organizations_member WHERE developer_id = $1 AND role IS NOT NULL",
)

# Foundings and promotions of one developer wait for each other.
_LOCK_OWNERSHIPS = "SELECT pg_advisory_xact_lock(hashtextextended('organizations: owner', $1))"

_LOCK_AGENTS = "SELECT pg_advisory_xact_lock(hashtextextended('organizations: agents ' || $1, 0))"

_COUNT_OWNED = "SELECT count(*) FROM organizations_member WHERE developer_id = $1 AND role = 4"

_UPDATE = """
UPDATE organizations_organization SET name = coalesce($2, name), description = coalesce($3, description),
  visibility = coalesce($4, visibility)
WHERE id = $1
"""

_COUNTS = """
SELECT o.id, (SELECT count(*) FROM organizations_member m WHERE m.organization_id = o.id AND m.role IS NOT NULL) AS members,
  (SELECT count(*) FROM organizations_team t WHERE t.organization_id = o.id) AS teams
FROM organizations_organization o WHERE o.id = ANY ($1)
"""

_JOIN = """
INSERT INTO organizations_member AS m (organization_id, developer_id, role) VALUES ($1, $2, $3)
ON CONFLICT (organization_id, developer_id) DO UPDATE SET role = excluded.role, joined_at = now(), left_at = NULL
WHERE m.role IS NULL
"""

_SET_ROLE = """
UPDATE organizations_member SET role = $3 WHERE organization_id = $1 AND developer_id = $2 AND role IS NOT NULL
"""

_LEAVE = """
UPDATE organizations_member SET role = NULL, left_at = now()
WHERE organization_id = $1 AND developer_id = $2 AND role IS NOT NULL
"""

_LEAVE_TEAMS = """
DELETE FROM organizations_team_member p USING organizations_team t
WHERE t.id = p.team_id AND t.organization_id = $1 AND p.developer_id = $2
"""

_MEMBERS = """
SELECT m.developer_id, m.role, m.joined_at, ARRAY(
  SELECT t.slug FROM organizations_team t JOIN organizations_team_member p ON p.team_id = t.id
  WHERE t.organization_id = m.organization_id AND p.developer_id = m.developer_id ORDER BY t.slug) AS teams
FROM organizations_member m WHERE m.organization_id = $1 AND m.role IS NOT NULL
  AND ($2::bigint IS NULL OR m.developer_id = $2)
ORDER BY m.role DESC, m.joined_at, m.developer_id LIMIT $3 OFFSET $4
"""


async def is_taken(tx: Tx, slug: str, skeleton: str) -> bool:
    """Return whether an organization has, or had, the slug or one that reads alike; none gets it before the transaction ends."""
    await tx.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('organizations: slug ' || $1, 0))", skeleton
    )
    taken: bool = await tx.fetchval(
        "SELECT EXISTS (SELECT FROM organizations_organization WHERE slug = $1 OR skeleton = $2)",
        slug,
        skeleton,
    )
    return taken


async def insert(tx: Tx, organization: Organization, skeleton: str, founder_id: int) -> None:
    """Write an organization."""
    await tx.execute(
        _INSERT,
        organization.id,
        organization.slug,
        skeleton,
        organization.name,
        organization.description,
        organization.visibility,
        organization.treasury_did,
        founder_id,
    )


async def find(
    tx: Tx, key: UUID | str, developer_id: int | None, *, lock: bool = False
) -> Organization | None:
    """The organization with this id or slug, with the role of the developer; locked until the transaction ends with `lock`."""
    column = "o.id" if isinstance(key, UUID) else "o.slug"
    suffix = " FOR NO KEY UPDATE OF o" if lock else ""
    row = await tx.fetchrow(f"SELECT {_COLUMNS} WHERE {column} = $1{suffix}", key, developer_id)
    if row is None:
        return None
    found = _organization(row)
    if not lock:
        return found
    # The role is read after the lock, in a statement of its own: it must see what a rival committed.
    return msgspec.structs.replace(found, role=await role_of(tx, found.id, developer_id))


async def share(tx: Tx, key: UUID | str) -> None:
    """Hold the organization as it is, together with other holders, until the transaction ends."""
    column = "id" if isinstance(key, UUID) else "slug"
    await tx.execute(f"SELECT FROM organizations_organization WHERE {column} = $1 FOR SHARE", key)


async def lock_agents(tx: Tx, organization_id: UUID) -> None:
    """Let no other transaction create an agent of the organization before this one ends."""
    await tx.execute(_LOCK_AGENTS, str(organization_id))


async def of_developer(
    tx: Tx, developer_id: int, *, limit: int, offset: int
) -> tuple[list[Organization], int]:
    """A page of the organizations of a developer, the oldest first, and how many there are."""
    rows, total = await read_page(tx, _OF_DEVELOPER, developer_id, limit, offset)
    return [_organization(row) for row in rows], total


async def count_owned(tx: Tx, developer_id: int) -> int:
    """The number of organizations that a developer owns; it does not grow before the transaction ends."""
    await tx.execute(_LOCK_OWNERSHIPS, developer_id)
    count: int = await tx.fetchval(_COUNT_OWNED, developer_id)
    return count


async def update(
    tx: Tx, organization_id: UUID, name: str | None, description: str | None, visibility: str | None
) -> None:
    """Write the members that are not None."""
    await tx.execute(_UPDATE, organization_id, name, description, visibility)


async def set_status(tx: Tx, organization_id: UUID, status: str) -> None:
    """Write the status of a locked organization."""
    await tx.execute(
        "UPDATE organizations_organization SET status = $2 WHERE id = $1", organization_id, status
    )


async def counts_of(tx: Tx, organization_ids: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
    """Members and teams of each organization."""
    rows = await tx.fetch(_COUNTS, list(organization_ids))
    return {row["id"]: (row["members"], row["teams"]) for row in rows}


async def names_of(tx: Tx, organization_ids: Collection[UUID]) -> dict[UUID, tuple[str, str]]:
    """Slug and name of each organization."""
    rows = await tx.fetch(
        "SELECT id, slug, name FROM organizations_organization WHERE id = ANY ($1)", list(organization_ids)
    )
    return {row["id"]: (row["slug"], row["name"]) for row in rows}


async def role_of(tx: Tx, organization_id: UUID, developer_id: int | None) -> Role | None:
    """The role of a developer; None for one who is not a member."""
    role: int | None = await tx.fetchval(
        "SELECT role FROM organizations_member WHERE organization_id = $1 AND developer_id = $2",
        organization_id,
        developer_id,
    )
    return None if role is None else Role(role)


async def is_barred(tx: Tx, developer_id: int) -> bool:
    """Return whether the developer is suspended or the account closed."""
    barred: bool = await tx.fetchval("SELECT plumbing_is_barred_author($1)", developer_id)
    return barred


async def join(tx: Tx, organization_id: UUID, developer_id: int, role: Role) -> bool:
    """Make a developer a member; False when one already."""
    return await tx.execute(_JOIN, organization_id, developer_id, role) == "INSERT 0 1"


async def set_role(tx: Tx, organization_id: UUID, developer_id: int, role: Role) -> None:
    """Write the role of a member."""
    await tx.execute(_SET_ROLE, organization_id, developer_id, role)


async def leave(tx: Tx, organization_id: UUID, developer_id: int) -> None:
    """End a membership, with the places in teams."""
    await tx.execute(_LEAVE, organization_id, developer_id)
    await tx.execute(_LEAVE_TEAMS, organization_id, developer_id)


async def leave_all(tx: Tx, organization_id: UUID) -> None:
    """End every membership."""
    await tx.execute(
        "UPDATE organizations_member SET role = NULL, left_at = now() WHERE organization_id = $1 AND role IS NOT NULL",
        organization_id,
    )


async def count_members(tx: Tx, organization_id: UUID) -> int:
    """The number of members."""
    return (await counts_of(tx, [organization_id]))[organization_id][0]


async def owners_of(tx: Tx, organization_id: UUID) -> list[int]:
    """The owners, in the order of their ids."""
    rows = await tx.fetch(
        "SELECT developer_id FROM organizations_member WHERE organization_id = $1 AND role = 4 ORDER BY developer_id",
        organization_id,
    )
    return [row["developer_id"] for row in rows]


async def able_owners(tx: Tx, organization_id: UUID) -> int:
    """The number of owners who are not suspended and whose account is not closed."""
    count: int = await tx.fetchval(
        "SELECT count(*) FROM organizations_member"
        " WHERE organization_id = $1 AND role = 4 AND NOT plumbing_is_barred_author(developer_id)",
        organization_id,
    )
    return count


async def members_of(
    tx: Tx, organization_id: UUID, *, one: int | None = None, limit: int | None = None, offset: int = 0
) -> list[asyncpg.Record]:
    """A page of the members, the owners first; with `one` that member alone."""
    rows: list[asyncpg.Record] = await tx.fetch(_MEMBERS, organization_id, one, limit, offset)
    return rows


async def organization_ids_of(tx: Tx, developer_id: int) -> list[UUID]:
    """The organizations of a developer, in the order in which they are locked."""
    rows = await tx.fetch(
        "SELECT organization_id FROM organizations_member WHERE developer_id = $1 AND role IS NOT NULL"
        " ORDER BY organization_id",
        developer_id,
    )
    return [row["organization_id"] for row in rows]


async def sole_ownerships(tx: Tx, developer_id: int) -> list[Organization]:
    """The organizations that have this developer as their only owner."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} WHERE m.role = $1 AND o.status <> 'deleted'"  # noqa: S608
        " AND NOT EXISTS (SELECT FROM organizations_member n"
        " WHERE n.organization_id = o.id AND n.role = 4 AND n.developer_id <> $2) ORDER BY o.id",
        Role.OWNER,
        developer_id,
    )
    return [_organization(row) for row in rows]


def _organization(row: asyncpg.Record | dict[str, Any]) -> Organization:
    role = row["role"]
    return Organization(**{**row, "role": None if role is None else Role(role)})
