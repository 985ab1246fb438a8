"""Write memberships of a locked organization, each with its row of the audit and its event."""

from hansa.foundation.events import (
    OrganizationMemberJoined,
    OrganizationMemberRemoved,
    OrganizationMemberRoleChanged,
)
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import agents, journal

from . import audit, rules, store
from .errors import AlreadyMember, LastOwner, MemberUnknown
from .records import Actor, Changed, Organization
from .rules import Role


async def join(
    tx: Tx, actor: Developer | Actor, organization: Organization, member_id: int, role: Role, *, by: int
) -> None:
    """Make a developer a member of a locked organization. Raises: LimitReached, AlreadyMember."""
    rules.require_room(await store.count_members(tx, organization.id), rules.MEMBERS_MAX, "members")
    if not await store.join(tx, organization.id, member_id, role):
        raise AlreadyMember
    await audit.record(tx, organization.id, actor, "member.join", f"developer:{member_id}", role=role.word)
    event = OrganizationMemberJoined(
        str(organization.id), organization.treasury_did, member_id, role.word, by
    )
    await journal.append(tx, event)


async def make_owner(tx: Tx, actor: Actor, organization: Organization, developer_id: int) -> None:
    """Make a developer, a member or not, an owner of a locked organization. Raises: MemberUnknown, LimitReached."""
    if await store.role_of(tx, organization.id, developer_id) is None:
        await join(tx, actor, organization, developer_id, Role.OWNER, by=actor.id)
    else:
        await apply_change(tx, actor, organization, developer_id, Role.OWNER)


async def apply_change(
    tx: Tx, actor: Developer | Actor, organization: Organization, member_id: int, role: Role | None
) -> Changed:
    """Write the role of a member of a locked organization, or end the membership. Raises: MemberUnknown, LastOwner, LimitReached."""
    present = await store.role_of(tx, organization.id, member_id)
    if present is None:
        raise MemberUnknown
    if present is role:
        return Changed(member_id, role, ())
    if present is Role.OWNER and len(await store.owners_of(tx, organization.id)) == 1:
        raise LastOwner
    if role is Role.OWNER:
        owned = await store.count_owned(tx, member_id)
        rules.require_room(owned, rules.OWNED_MAX, "organizations of one owner")
    if role is None:
        await store.leave(tx, organization.id, member_id)
    else:
        await store.set_role(tx, organization.id, member_id, role)
    # Read when the membership is locked: an act under way that reads a secret is over.
    seen = await agents.secrets_seen_by(tx, organization.id, member_id)
    await audit.record(
        tx,
        organization.id,
        actor,
        "member.remove" if role is None else "member.role",
        f"developer:{member_id}",
        role=role.word if role else None,
    )
    kind = OrganizationMemberRemoved if role is None else OrganizationMemberRoleChanged
    event = kind(
        str(organization.id), organization.treasury_did, member_id, role.word if role else None, actor.id
    )
    await journal.append(tx, event)
    return Changed(member_id, role, tuple(seen) if role is None or role < present else ())
