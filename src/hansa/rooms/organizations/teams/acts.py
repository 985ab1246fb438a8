"""Make, change and delete teams, and give places in them. Rights count from the next request on."""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents
from hansa.rooms.organizations import audit, reading, rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.approvals import store as approvals
from hansa.rooms.organizations.errors import MemberUnknown, TeamExists, TeamInRules, TeamUnknown
from hansa.rooms.organizations.records import Acting, Actor, NewRequest, Organization, Request, Team
from hansa.rooms.organizations.requests.acts import ask
from hansa.rooms.organizations.requests.granting import GRANT, TEAM, gives_approval
from hansa.rooms.organizations.requests.tally import Reading
from hansa.rooms.organizations.rules import Role

from . import store


async def teams_of(tx: Tx, developer: Developer, key: str) -> list[Team]:
    """The teams, by slug. Raises: OrganizationUnknown."""
    organization = await reading.held(tx, key, developer.id, Role.VIEWER)
    return await store.teams_of(tx, organization.id)


async def make_team(tx: Tx, developer: Developer, key: str, slug: str, right: Right) -> Team:
    """Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, LimitReached, TeamExists."""
    organization = await reading.locked(tx, key, developer.id, Role.ADMIN)
    rules.require_room(len(await store.teams_of(tx, organization.id)), rules.TEAMS_MAX, "teams")
    if not await store.insert(tx, organization.id, slug, right):
        raise TeamExists(field="slug")
    await _record(tx, organization, developer, "team.create", slug, grant=right.name)
    return await _team(tx, organization.id, slug)


async def change_team(tx: Tx, developer: Developer, key: str, slug: str, right: Right) -> Team:
    """Give a team another right. Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown."""
    organization, team = await _lock(tx, developer, key, slug)
    await store.set_right(tx, team.id, right)
    await _record(tx, organization, developer, "team.change", slug, grant=right.name)
    return await _team(tx, organization.id, slug)


async def delete_team(tx: Tx, developer: Developer, key: str, slug: str) -> None:
    """Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown, TeamInRules."""
    organization, team = await _lock(tx, developer, key, slug)
    if any(tier.demand.team_id == team.id for tier in await approvals.tiers_of(tx, organization.id)):
        raise TeamInRules
    await store.delete(tx, team.id)
    await _record(tx, organization, developer, "team.delete", slug)


async def put_member(tx: Tx, acting: Acting, key: str, slug: str, member_id: int) -> Reading | None:
    """Give a member a place, or ask for it where it gives a right to approve; one that has it keeps it.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown, MemberUnknown, RequestExists, LimitReached.
    """
    organization, team = await _lock(tx, acting.actor, key, slug)
    if await organizations.role_of(tx, organization.id, member_id) is None:
        raise MemberUnknown
    if member_id not in team.members and await gives_approval(tx, organization.id, team_ids=[team.id]):
        body = {"act": TEAM, "team": slug, "team_id": str(team.id), "developer_id": member_id}
        return await ask(tx, acting, organization, GRANT, NewRequest(body, concerned_id=member_id))
    await _add_member(tx, acting.actor, organization, team, member_id)
    return None


async def place_granted(tx: Tx, acting: Acting, organization: Organization, request: Request) -> None:
    """Give a member the place that others approved. Raises: TeamUnknown, MemberUnknown."""
    team = await _team(tx, organization.id, request.body["team"])
    if str(team.id) != request.body["team_id"]:
        raise TeamUnknown
    member_id = request.body["developer_id"]
    if await organizations.role_of(tx, organization.id, member_id) is None:
        raise MemberUnknown
    await _add_member(tx, acting.actor, organization, team, member_id)


async def _add_member(tx: Tx, actor: Actor, organization: Organization, team: Team, member_id: int) -> None:
    await store.add_member_to(tx, organization.id, team.id, member_id)
    await _record(tx, organization, actor, "team.member.add", team.slug, developer_id=member_id)


async def remove_member(tx: Tx, developer: Developer, key: str, slug: str, member_id: int) -> None:
    """Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown, MemberUnknown."""
    organization, team = await _lock(tx, developer, key, slug)
    if not await store.remove_member(tx, team.id, member_id):
        raise MemberUnknown("The developer has no place in the team.")
    await _record(tx, organization, developer, "team.member.remove", slug, developer_id=member_id)


async def put_agent(tx: Tx, developer: Developer, key: str, slug: str, did: str) -> None:
    """Give a team its right at an agent of the organization.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown, agents.AgentUnknown.
    """
    organization, team = await _lock(tx, developer, key, slug)
    if not await agents.is_of_organization(tx, did, organization.id):
        raise agents.AgentUnknown("The organization has no agent with this DID.")
    await store.add_agent(tx, team.id, did)
    await _record(tx, organization, developer, "team.agent.add", slug, did=did)


async def remove_agent(tx: Tx, developer: Developer, key: str, slug: str, did: str) -> None:
    """Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown, agents.AgentUnknown."""
    organization, team = await _lock(tx, developer, key, slug)
    if not await store.remove_agent(tx, team.id, did):
        raise agents.AgentUnknown("The team has no right at this agent.")
    await _record(tx, organization, developer, "team.agent.remove", slug, did=did)


async def _lock(tx: Tx, developer: Developer | Actor, key: str, slug: str) -> tuple[Organization, Team]:
    organization = await reading.locked(tx, key, developer.id, Role.ADMIN)
    return organization, await _team(tx, organization.id, slug)


async def _team(tx: Tx, organization_id: UUID, slug: str) -> Team:
    team = await store.find(tx, organization_id, slug)
    if team is None:
        raise TeamUnknown
    return team


async def _record(
    tx: Tx, organization: Organization, developer: Developer | Actor, act: str, slug: str, **members: object
) -> None:
    await audit.record(tx, organization.id, developer, act, f"team:{slug}", **members)
