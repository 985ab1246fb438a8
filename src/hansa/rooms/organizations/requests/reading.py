"""Read requests of an organization, and those of all own organizations that wait for a person."""

from collections.abc import Mapping
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.organizations.errors import RequestUnknown
from hansa.rooms.organizations.records import Organization, Request

from . import store, waiting_store
from .kinds import RequestKind
from .tally import Reading, read
from .waiting_store import WaitingRequest


async def requests_in(tx: Tx, organization_id: UUID, *, limit: int, offset: int) -> tuple[list[Request], int]:
    """A page of the requests of an organization, newest first, and how many there are."""
    return await store.requests_of(tx, organization_id, limit=limit, offset=offset)


async def request_in(
    tx: Tx, kinds: Mapping[str, RequestKind], organization: Organization, request_id: UUID
) -> Reading:
    """One request as it stands now. Raises: RequestUnknown."""
    found = await store.find(tx, organization.id, request_id)
    if found is None:
        raise RequestUnknown
    (reading,) = await read(tx, organization, kinds, [found])
    return reading


async def waiting_for_person(
    tx: Tx, developer_id: int, limit: int, organization_id: UUID | None = None
) -> list[WaitingRequest]:
    """The pending requests of own organizations, or of one, that the developer may approve, the oldest first; one statement."""
    return await waiting_store.waiting_for_person(tx, developer_id, limit, organization_id)
