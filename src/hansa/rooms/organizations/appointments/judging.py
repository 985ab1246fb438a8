"""Conditions of an appointment, judged when it is announced and again when it takes effect."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import people
from hansa.rooms.organizations import reading, rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.errors import AppointeeUnknown, NotAppointable, OwnersCanAct
from hansa.rooms.organizations.records import Organization
from hansa.rooms.organizations.rules import Role


async def require_appointable(tx: Tx, organization: Organization, developer_id: int) -> None:
    """Require that too few owners of a locked organization can act, and that the developer can be one.

    An owner who is suspended, or whose account is closed, cannot act.

    Raises: OrganizationNotActive, OwnersCanAct, AppointeeUnknown, NotAppointable, LimitReached.
    """
    reading.require_active(organization)
    owners = await organizations.owners_of(tx, organization.id)
    able = await organizations.able_owners(tx, organization.id)
    if able >= rules.approvals_needed(len(owners)):
        raise OwnersCanAct(context={"state": organization.status, "owners": len(owners), "able": able})
    developer = await people.read_developer(tx, developer_id)
    if developer is None:
        raise AppointeeUnknown(field="developer_id")
    if not developer.is_verified or await organizations.is_barred(tx, developer_id):
        raise NotAppointable(field="developer_id")
    role = await organizations.role_of(tx, organization.id, developer_id)
    if role is Role.OWNER:
        raise NotAppointable("The developer is an owner of the organization.", field="developer_id")
    if role is None:
        count = await organizations.count_members(tx, organization.id)
        rules.require_room(count, rules.MEMBERS_MAX, "members")
    owned = await organizations.count_owned(tx, developer_id)
    rules.require_room(owned, rules.OWNED_MAX, "organizations of one owner")
