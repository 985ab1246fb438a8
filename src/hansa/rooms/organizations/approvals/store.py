"""The SQL of tiers and approvers. Every change holds the row of the organization."""

from collections.abc import Collection, Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.organizations.rules import Role

from .rules import Approver, Demand, Tier

_TIERS = """
SELECT r.above, r.approvals, r.role, r.team_id, t.slug FROM organizations_tier r
  LEFT JOIN organizations_team t ON t.id = r.team_id
WHERE r.organization_id = $1 ORDER BY r.above
"""

_INSERT_TIERS = """
INSERT INTO organizations_tier (organization_id, above, approvals, role, team_id)
SELECT $1, t.* FROM unnest($2::bigint[], $3::smallint[], $4::smallint[], $5::uuid[]) t
"""

_APPROVERS = """
SELECT m.developer_id, m.role, ARRAY(SELECT p.team_id FROM organizations_team_member p
  WHERE p.developer_id = m.developer_id AND p.team_id = ANY ($2)) AS team_ids
FROM organizations_member m
WHERE m.organization_id = $1 AND m.role IS NOT NULL AND NOT plumbing_is_barred_author(m.developer_id)
  AND (m.role >= 3 OR EXISTS (SELECT FROM organizations_team_member p
    WHERE p.developer_id = m.developer_id AND p.team_id = ANY ($2)))
"""


async def tiers_of(tx: Tx, organization_id: UUID) -> list[Tier]:
    """The tiers of an organization in ascending order."""
    found = []
    for row in await tx.fetch(_TIERS, organization_id):
        word = row["slug"] if row["role"] is None else Role(row["role"]).word
        approvers = str(row["team_id"]) if row["role"] is None else word
        found.append(Tier(row["above"], Demand(row["approvals"], approvers), word))
    return found


async def replace_tiers(tx: Tx, organization_id: UUID, tiers: Sequence[Tier]) -> None:
    """Write the tiers of a locked organization in place of the former ones."""
    await tx.execute("DELETE FROM organizations_tier WHERE organization_id = $1", organization_id)
    demands = [tier.demand for tier in tiers]
    await tx.execute(
        _INSERT_TIERS,
        organization_id,
        [tier.above for tier in tiers],
        [demand.approvals for demand in demands],
        [demand.role for demand in demands],
        [demand.team_id for demand in demands],
    )


async def approvers_of(tx: Tx, organization_id: UUID, team_ids: Collection[UUID]) -> list[Approver]:
    """The admins, the owners and the members of these teams, who are neither suspended nor closed."""
    return [
        Approver(row["developer_id"], Role(row["role"]), frozenset(row["team_ids"]))
        for row in await tx.fetch(_APPROVERS, organization_id, list(team_ids))
    ]
