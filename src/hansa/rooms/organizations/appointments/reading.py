"""Appointments as administrators of support read them: the owners of an organization, and the appointment that is pending."""

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms.organizations import reading, rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.errors import OrganizationUnknown
from hansa.rooms.organizations.records import Appointment, Organization

from . import store


class OwnersOf(msgspec.Struct, frozen=True):
    """Owners of an organization: how many there are, how many can act, and the appointment that is pending."""

    organization: Organization
    owners: int
    able: int
    pending: Appointment | None

    @property
    def needed(self) -> int:
        """The number of owners that a change of owners needs."""
        return rules.approvals_needed(self.owners)


async def owners_of(tx: Tx, key: str) -> OwnersOf:
    """The owners of an organization, for an administrator. Raises: OrganizationUnknown."""
    organization = await organizations.find(tx, reading.as_key(key), None)
    if organization is None or organization.status == "deleted":
        raise OrganizationUnknown
    owners, able, pending = await read_together(
        tx,
        lambda tx: organizations.owners_of(tx, organization.id),
        lambda tx: organizations.able_owners(tx, organization.id),
        lambda tx: store.pending_of(tx, organization.id),
    )
    return OwnersOf(organization, len(owners), able, pending)
