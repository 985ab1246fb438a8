"""Requests with the number of approvals that they need now."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.organizations import rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.records import Request

OWNERS, RELEASE = "owners", "release"


class Reading(msgspec.Struct, frozen=True):
    """A request, and the number of approvals beside the initiator's that it needs."""

    request: Request
    approvals_needed: int


async def with_needed(tx: Tx, organization_id: UUID, found: Sequence[Request]) -> list[Reading]:
    """The requests with the approvals that they need at present; a release needs none."""
    owners = await organizations.owners_of(tx, organization_id)
    needed = {OWNERS: rules.approvals_needed(len(owners)) - 1, RELEASE: 0}
    return [Reading(request, needed[request.kind]) for request in found]
