"""Appoint an owner and veto it. Both hold the row of the organization."""

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import agents, people
from hansa.rooms.organizations import audit, reading
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.errors import (
    AppointmentOfCaller,
    AppointmentPending,
    AppointmentUnknown,
    OrganizationUnknown,
)
from hansa.rooms.organizations.records import Actor, Appointment, Organization
from hansa.rooms.organizations.rules import APPOINTMENT_NOTICE, Role

from . import mails, store
from .judging import require_appointable

CREDENTIAL = "administrator"


async def appoint(
    tx: Tx, seal: Seal, administrator: Developer, key: str, *, developer_id: int, reason: str, base_url: str
) -> Appointment:
    """Announce to the members that a developer is to be an owner.

    Raises: OrganizationUnknown, agents.AgentOfCaller, AppointmentOfCaller, AppointmentPending, AreasWithheld, and the errors of
    `require_appointable`.
    """
    organization = await organizations.find(tx, reading.as_key(key), None, lock=True)
    if organization is None or organization.status == "deleted":
        raise OrganizationUnknown
    if developer_id == administrator.id:
        raise AppointmentOfCaller(field="developer_id")
    await agents.require_of_others(tx, administrator, [organization.treasury_did])
    await require_appointable(tx, organization, developer_id)
    appointment = await store.insert(
        tx,
        organization.id,
        developer_id,
        reason=reason,
        administrator_id=administrator.id,
        notice=APPOINTMENT_NOTICE,
    )
    if appointment is None:
        raise AppointmentPending
    await _notify(tx, seal, organization, appointment, base_url)
    actor = Actor(administrator.id, CREDENTIAL)
    target = f"developer:{developer_id}"
    await audit.record(tx, organization.id, actor, "owner.appoint", target, reason=reason)
    await record_admin_act(
        tx, administrator, act="organization.appoint_owner", subject=str(organization.id), reason=reason
    )
    return appointment


async def veto(tx: Tx, developer: Developer, key: str) -> Appointment:
    """End the pending appointment of an owner. Raises: OrganizationUnknown, OrgRoleRequired, AppointmentUnknown."""
    organization = await reading.locked_in_any_status(tx, key, developer.id, Role.OWNER)
    appointment = await store.veto(tx, organization.id, developer.id)
    if appointment is None:
        raise AppointmentUnknown
    target = f"developer:{appointment.developer_id}"
    await audit.record(tx, organization.id, developer, "owner.veto", target)
    return appointment


async def _notify(
    tx: Tx, seal: Seal, organization: Organization, appointment: Appointment, base_url: str
) -> None:
    members = {row["developer_id"] for row in await organizations.members_of(tx, organization.id)}
    notice = mails.appointment(organization, appointment, base_url)
    for developer_id in sorted(members | {appointment.developer_id}):
        await people.notify(tx, seal, developer_id, notice)
