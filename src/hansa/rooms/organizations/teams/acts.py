"""Make, change and delete teams, and give places in them. Rights count from the next request on."""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents
from hansa.rooms.organizations import audit, reading, rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.errors import MemberUnknown, TeamExists, TeamUnknown
from hansa.rooms.organizations.records import Organization, Team
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
    """Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown."""
    organization, team = await _lock(tx, developer, key, slug)
    await store.delete(tx, team.id)
    await _record(tx, organization, developer, "team.delete", slug)


async def put_member(tx: Tx, developer: Developer, key: str, slug: str, member_id: int) -> None:
    """Give a member a place; one that has it keeps it.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, TeamUnknown, MemberUnknown.
    """
    organization, team = await _lock(tx, developer, key, slug)
    if await organizations.role_of(tx, organization.id, member_id) is None:
        raise MemberUnknown
    await store.add_member_to(tx, organization.id, team.id, member_id)
    await _record(tx, organization, developer, "team.member.add", slug, developer_id=member_id)


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


async def _lock(tx: Tx, developer: Developer, key: str, slug: str) -> tuple[Organization, Team]:
    organization = await reading.locked(tx, key, developer.id, Role.ADMIN)
    return organization, await _team(tx, organization.id, slug)


async def _team(tx: Tx, organization_id: UUID, slug: str) -> Team:
    team = await store.find(tx, organization_id, slug)
    if team is None:
        raise TeamUnknown
    return team


async def _record(
    tx: Tx, organization: Organization, developer: Developer, act: str, slug: str, **members: object
) -> None:
    await audit.record(tx, organization.id, developer, act, f"team:{slug}", **members)
