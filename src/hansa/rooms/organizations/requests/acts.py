"""Approve, reject and cancel requests. A request is carried out in the commit of the approval that completes it."""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms.organizations import audit, reading, rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.errors import OwnApproval, RequestEnded, RequestUnknown
from hansa.rooms.organizations.membership import apply_change
from hansa.rooms.organizations.records import Organization, Request
from hansa.rooms.organizations.rules import Role

from . import store
from .needed import Reading, with_needed


async def requests_of(
    tx: Tx, developer: Developer, key: str, *, limit: int, offset: int
) -> tuple[list[Reading], int]:
    """A page of the requests, newest first, and how many there are. Raises: OrganizationUnknown."""
    organization = await reading.held(tx, key, developer.id, Role.VIEWER)
    found, total = await store.requests_of(tx, organization.id, limit=limit, offset=offset)
    return await with_needed(tx, organization.id, found), total


async def request_of(tx: Tx, developer: Developer, key: str, request_id: UUID) -> Reading:
    """One request. Raises: OrganizationUnknown, RequestUnknown."""
    organization = await reading.held(tx, key, developer.id, Role.VIEWER)
    return await _read(tx, organization, request_id)


async def approve(tx: Tx, developer: Developer, key: str, request_id: UUID) -> Reading:
    """Approve a request; the last approval that it needs carries it out.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, RequestUnknown, OwnApproval, RequestEnded, and the errors of
    `apply_change`.
    """
    organization, request = await _lock(tx, developer, key, request_id)
    if developer.id in {request.initiator_id, request.concerned_id}:
        raise OwnApproval
    await store.approve(tx, request.id, developer.id)
    await audit.record(tx, organization.id, developer, "request.approve", str(request.id))
    owners = await organizations.owners_of(tx, organization.id)
    if await store.agreeing_owners(tx, request.id) >= rules.approvals_needed(len(owners)):
        await _carry_out(tx, developer, organization, request)
    return await _read(tx, organization, request_id)


async def reject(tx: Tx, developer: Developer, key: str, request_id: UUID, reason: str | None) -> Reading:
    """Reject a request, which ends it.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, RequestUnknown, OwnApproval, RequestEnded.
    """
    organization, request = await _lock(tx, developer, key, request_id)
    if developer.id in {request.initiator_id, request.concerned_id}:
        raise OwnApproval
    await _end(tx, request, "REJECTED", reason)
    await audit.record(tx, organization.id, developer, "request.reject", str(request.id), reason=reason)
    return await _read(tx, organization, request_id)


async def cancel(tx: Tx, developer: Developer, key: str, request_id: UUID) -> Reading:
    """Cancel a request: its initiator, and every owner whom it does not concern.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, RequestUnknown, OwnApproval, RequestEnded.
    """
    organization, request = await _lock(tx, developer, key, request_id)
    if developer.id == request.concerned_id:
        raise OwnApproval
    await _end(tx, request, "CANCELLED", None)
    await audit.record(tx, organization.id, developer, "request.cancel", str(request.id))
    return await _read(tx, organization, request_id)


async def _carry_out(tx: Tx, developer: Developer, organization: Organization, request: Request) -> None:
    await _end(tx, request, "EXECUTED", None)
    role = request.body["role"]
    await apply_change(
        tx, developer, organization, request.body["developer_id"], Role.named(role) if role else None
    )


async def _lock(tx: Tx, developer: Developer, key: str, request_id: UUID) -> tuple[Organization, Request]:
    organization = await reading.locked(tx, key, developer.id, Role.OWNER)
    request = await store.find(tx, organization.id, request_id)
    if request is None:
        raise RequestUnknown
    if request.status != "PENDING":
        raise _ended(request)
    return organization, request


async def _end(tx: Tx, request: Request, status: str, reason: str | None) -> None:
    if not await store.end(tx, request.id, status, reason):
        raise _ended(request)


def _ended(request: Request) -> RequestEnded:
    state = "EXPIRED" if request.status == "PENDING" else request.status
    return RequestEnded(f"The request is {state}.", context={"state": state})


async def _read(tx: Tx, organization: Organization, request_id: UUID) -> Reading:
    request = await store.find(tx, organization.id, request_id)
    if request is None:
        raise RequestUnknown
    (found,) = await with_needed(tx, organization.id, [request])
    return found
