"""Name approvers: a role, or a team of the organization by its slug."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.organizations.approvals.rules import ADMIN, OWNER
from hansa.rooms.organizations.errors import TeamUnknown

from . import store as teams


async def approvers_named(tx: Tx, organization_id: UUID, word: str) -> str:
    """The approvers of a demand: `admin`, `owner`, or the id of the team with this slug. Raises: TeamUnknown."""
    if word in {ADMIN, OWNER}:
        return word
    team = await teams.find(tx, organization_id, word)
    if team is None:
        raise TeamUnknown(
            f"The organization has no team {word!r}; from is admin, owner or the slug of a team.",
            field="from",
        )
    return str(team.id)


async def members_of_teams(tx: Tx, organization_id: UUID, words: Sequence[str]) -> dict[str, list[int]]:
    """The members of those teams whose slugs are among the words."""
    found = {team.slug: list(team.members) for team in await teams.teams_of(tx, organization_id)}
    return {word: found[word] for word in words if word in found and word not in {ADMIN, OWNER}}


async def require_team(tx: Tx, organization_id: UUID, team_id: UUID) -> None:
    """Raises: TeamUnknown."""
    if team_id not in {team.id for team in await teams.teams_of(tx, organization_id)}:
        raise TeamUnknown(field="team_id")


async def is_member_of(tx: Tx, organization_id: UUID, team_id: UUID, developer_id: int) -> bool:
    """Return whether the developer has a place in the team."""
    return any(
        team.id == team_id and developer_id in team.members
        for team in await teams.teams_of(tx, organization_id)
    )
