"""Change and end memberships. Every act holds the row of the organization, so of two at once the second sees the result of the first.

A change of owners needs more than half of all owners, the initiator included and the one concerned not: it becomes a request.
"""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import API_KEY_SESSION, Developer
from hansa.rooms import people
from hansa.rooms.organizations import audit, reading, rules, store
from hansa.rooms.organizations.errors import MemberUnknown, OwnersTooFew, SessionRequired
from hansa.rooms.organizations.membership import apply_change
from hansa.rooms.organizations.records import Changed, Member, Organization
from hansa.rooms.organizations.requests import store as requests
from hansa.rooms.organizations.requests.needed import OWNERS, Reading
from hansa.rooms.organizations.rules import Role


async def members_of(
    tx: Tx, developer: Developer, key: str, *, limit: int, offset: int
) -> tuple[list[Member], int]:
    """A page of the members, the owners first, and how many there are. Raises: OrganizationUnknown."""
    organization = await reading.held(tx, key, developer.id, Role.VIEWER)
    members = await members_in(tx, organization.id, limit=limit, offset=offset)
    return members, await store.count_members(tx, organization.id)


async def members_in(
    tx: Tx, organization_id: UUID, *, one: int | None = None, limit: int | None = None, offset: int = 0
) -> list[Member]:
    """A page of the members of an organization, the owners first; with `one` that member alone."""
    rows = await store.members_of(tx, organization_id, one=one, limit=limit, offset=offset)
    names = await people.names_of(tx, [row["developer_id"] for row in rows])
    return [
        Member(
            row["developer_id"],
            names.get(row["developer_id"]),
            Role(row["role"]),
            tuple(row["teams"]),
            row["joined_at"],
        )
        for row in rows
    ]


async def change_member(
    tx: Tx, developer: Developer, key: str, member_id: int, role: Role | None
) -> Changed | Reading:
    """Give a member another role, or end the membership with None; a request where other owners must agree.

    Raises: OrganizationUnknown, OrganizationNotActive, MemberUnknown, OrgRoleRequired, LastOwner, SessionRequired, OwnersTooFew,
    LimitReached, RequestExists.
    """
    is_own = member_id == developer.id
    needed = Role.VIEWER if is_own else Role.ADMIN
    find = reading.locked_in_any_status if is_own and role is None else reading.locked
    organization = await find(tx, key, developer.id, needed)
    present = await store.role_of(tx, organization.id, member_id)
    assert organization.role is not None
    if present is None:
        raise MemberUnknown
    if is_own:
        rules.require_role(present, role or Role.VIEWER)
    else:
        rules.require_may_change(organization.role, present, role)
        if Role.OWNER in {present, role} and present is not role:
            return await _change_owners(tx, developer, organization, member_id, role)
    return await apply_change(tx, developer, organization, member_id, role)


async def _change_owners(
    tx: Tx, developer: Developer, organization: Organization, member_id: int, role: Role | None
) -> Changed | Reading:
    rules.require_role(organization.role or Role.VIEWER, Role.OWNER)
    if developer.session.startswith(API_KEY_SESSION):
        raise SessionRequired
    owners = await store.owners_of(tx, organization.id)
    needed = rules.approvals_needed(len(owners))
    if len([owner for owner in owners if owner != member_id]) < needed:
        raise OwnersTooFew
    if needed == 1:
        return await apply_change(tx, developer, organization, member_id, role)
    body = {"developer_id": member_id, "role": role.word if role else None}
    request = await requests.insert(
        tx, organization.id, OWNERS, body, concerned_id=member_id, initiator_id=developer.id
    )
    await audit.record(tx, organization.id, developer, "request.create", str(request.id), kind=OWNERS, **body)
    return Reading(request, needed - 1)
