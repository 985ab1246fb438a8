"""Change and end memberships. Every act holds the row of the organization, so of two at once the second sees the result of the first.

A change of owners needs more than half of all owners, the initiator included and the one concerned not: it becomes a request.
"""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import API_KEY_SESSION, Developer
from hansa.rooms import people
from hansa.rooms.organizations import reading, rules, store
from hansa.rooms.organizations.errors import MemberUnknown, OwnersDecide, OwnersTooFew, SessionRequired
from hansa.rooms.organizations.membership import apply_change
from hansa.rooms.organizations.records import Acting, Changed, Member, NewRequest, Organization, Request
from hansa.rooms.organizations.requests.acts import ask
from hansa.rooms.organizations.requests.granting import GRANT, ROLE, gives_approval
from hansa.rooms.organizations.requests.owners import OWNERS
from hansa.rooms.organizations.requests.tally import Reading
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
    tx: Tx, acting: Acting, key: str, member_id: int, role: Role | None
) -> Changed | Reading:
    """Give a member another role, or end the membership with None; a request where others must agree.

    Raises: OrganizationUnknown, OrganizationNotActive, MemberUnknown, OrgRoleRequired, LastOwner, SessionRequired, OwnersTooFew,
    LimitReached, RequestExists.
    """
    developer = acting.actor
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
            return await _change_owners(tx, acting, organization, member_id, role)
    return await _change_or_ask(tx, acting, organization, member_id, role)


async def change_granted(tx: Tx, acting: Acting, organization: Organization, request: Request) -> None:
    """Give a member the role that others approved. Raises: MemberUnknown, OrgRoleRequired, OwnersDecide, LimitReached."""
    member_id, role = request.body["developer_id"], Role.named(request.body["role"])
    present = await store.role_of(tx, organization.id, member_id)
    initiator = await store.role_of(tx, organization.id, request.initiator_id)
    if present is None:
        raise MemberUnknown
    rules.require_may_change(initiator or Role.VIEWER, present, role)
    if role is Role.OWNER and rules.approvals_needed(len(await store.owners_of(tx, organization.id))) > 1:
        raise OwnersDecide
    if present < role:
        await apply_change(tx, acting.actor, organization, member_id, role)


async def _change_or_ask(
    tx: Tx, acting: Acting, organization: Organization, member_id: int, role: Role | None
) -> Changed | Reading:
    present = await store.role_of(tx, organization.id, member_id)
    if role is not None and await gives_approval(tx, organization.id, role, held=present):
        body = {"act": ROLE, "developer_id": member_id, "role": role.word}
        return await ask(tx, acting, organization, GRANT, NewRequest(body, concerned_id=member_id))
    return await apply_change(tx, acting.actor, organization, member_id, role)


async def _change_owners(
    tx: Tx,
    acting: Acting,
    organization: Organization,
    member_id: int,
    role: Role | None,
) -> Changed | Reading:
    developer = acting.actor
    rules.require_role(organization.role or Role.VIEWER, Role.OWNER)
    if developer.session.startswith(API_KEY_SESSION):
        raise SessionRequired
    owners = await store.owners_of(tx, organization.id)
    needed = rules.approvals_needed(len(owners))
    if len([owner for owner in owners if owner != member_id]) < needed:
        raise OwnersTooFew
    if needed == 1:
        return await _change_or_ask(tx, acting, organization, member_id, role)
    body = {"developer_id": member_id, "role": role.word if role else None}
    return await ask(tx, acting, organization, OWNERS, NewRequest(body, concerned_id=member_id))
