"""Requests of an organization over HTTP."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response

from hansa.foundation.plumbing.process.runtime import Db, Sealing, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import (
    API_KEY_SESSION,
    Developer,
    developer_holding,
)
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import (
    Conflict,
    Forbidden,
    Invalid,
    MemberInvalid,
    TooManyRequests,
    Unauthorized,
)
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms import ledger, people
from hansa.rooms.organizations.errors import (
    ApprovalsMissing,
    InitiatorWithoutRole,
    NotAnApprover,
    OrganizationNotActive,
    OrganizationUnknown,
    OrgRoleRequired,
    OwnApproval,
    RequestDelayed,
    RequestEnded,
    RequestUnknown,
    SessionRequired,
)
from hansa.rooms.organizations.repeating import Sent

from .acts import approve, cancel, reject, request_of, requests_of, retry
from .kinds import kinds_of
from .schemas import OrganizationRequestOut, RejectionIn, RequestApprovalIn

PAGE_MAX = 100
OFFSET_MAX = 2**31 - 1

router = APIRouter(
    prefix="/organizations/{organization_id}/treasury/requests",
    tags=["organizations"],
    route_class=GuardedRoute,
)

Key = Annotated[str, Path(max_length=64)]
ReadingDeveloper = Annotated[Developer, developer_holding("orgs:read")]
REFUSALS = (
    Unauthorized,
    OrganizationUnknown,
    OrganizationNotActive,
    OrgRoleRequired,
    NotAnApprover,
    RequestUnknown,
    OwnApproval,
    RequestEnded,
    Invalid,
)


@router.get("", responses=problems(Unauthorized, OrganizationUnknown, Invalid))
async def read_requests(
    organization_id: Key,
    developer: ReadingDeveloper,
    db: Db,
    *,
    http: Request,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = 50,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> Page[OrganizationRequestOut]:
    """The requests of an own organization, newest first."""
    kinds = kinds_of(runtime_of(http))
    found, total = await db.read(
        lambda tx: requests_of(tx, kinds, developer, organization_id, limit=limit, offset=offset)
    )
    return Page(
        items=[OrganizationRequestOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.get("/{request_id}", responses=problems(Unauthorized, OrganizationUnknown, RequestUnknown, Invalid))
async def read_request(
    organization_id: Key, request_id: UUID, developer: ReadingDeveloper, db: Db, http: Request
) -> OrganizationRequestOut:
    """One request of an own organization."""
    kinds = kinds_of(runtime_of(http))
    found = await db.read(lambda tx: request_of(tx, kinds, developer, organization_id, request_id))
    return OrganizationRequestOut.of(found)


@router.post(
    "/{request_id}/approve",
    response_model=OrganizationRequestOut,
    responses=problems(
        *REFUSALS,
        KeyReused,
        KeyInProgress,
        SessionRequired,
        people.CodeWrong,
        people.WrongPassword,
        BodyInvalid,
        TooManyRequests,
        people.TooManyPasswords,
    ),
)
async def approve_request(
    organization_id: Key, request_id: UUID, body: RequestApprovalIn, sent: Sent, *, db: Db, seal: Sealing
) -> Response:
    """Approve a request of another member; the last approval that it needs carries it out. It takes a login and a proof of presence.

    A request that is approved and cannot be carried out stays pending, with the reason.
    """
    developer, runtime = sent.developer, sent.runtime
    if developer.session.startswith(API_KEY_SESSION):
        raise SessionRequired
    if developer.has_second_factor:
        code = body.totp_code
        if code is None:
            raise MemberInvalid("totp_code is required: two-factor login is on.", field="totp_code")
        if not await db.transaction(lambda tx: people.take_code(tx, seal, developer.id, code)):
            raise people.CodeWrong
    elif body.password is None:
        raise MemberInvalid("password is required: two-factor login is off.", field="password")
    else:
        await people.prove_password(db, developer, body.password)

    async def approved(tx: Tx) -> OrganizationRequestOut:
        found = await approve(tx, sent.acting, kinds_of(runtime), organization_id, request_id)
        return OrganizationRequestOut.of(found)

    return await sent.answer(db, approved)


@router.post(
    "/{request_id}/reject",
    response_model=OrganizationRequestOut,
    responses=problems(*REFUSALS, KeyReused, KeyInProgress, BodyInvalid),
)
async def reject_request(
    organization_id: Key, request_id: UUID, sent: Sent, db: Db, body: RejectionIn | None = None
) -> Response:
    """Reject a request of another member, which ends it."""
    given = body or RejectionIn()

    async def rejected(tx: Tx) -> OrganizationRequestOut:
        kinds = kinds_of(sent.runtime)
        found = await reject(tx, sent.acting, kinds, organization_id, request_id, reason=given.reason)
        return OrganizationRequestOut.of(found)

    return await sent.answer(db, rejected, given)


@router.post(
    "/{request_id}/cancel",
    response_model=OrganizationRequestOut,
    responses=problems(*REFUSALS, KeyReused, KeyInProgress),
)
async def cancel_request(organization_id: Key, request_id: UUID, sent: Sent, db: Db) -> Response:
    """Cancel a request: its initiator, or an owner whom it does not concern."""

    async def cancelled(tx: Tx) -> OrganizationRequestOut:
        kinds = kinds_of(sent.runtime)
        return OrganizationRequestOut.of(await cancel(tx, sent.acting, kinds, organization_id, request_id))

    return await sent.answer(db, cancelled)


@router.post(
    "/{request_id}/retry",
    response_model=OrganizationRequestOut,
    responses=problems(
        Unauthorized,
        OrganizationUnknown,
        OrganizationNotActive,
        OrgRoleRequired,
        RequestUnknown,
        RequestEnded,
        ApprovalsMissing,
        RequestDelayed,
        InitiatorWithoutRole,
        ledger.InsufficientBalance,
        Forbidden,
        Conflict,
        Invalid,
        KeyReused,
        KeyInProgress,
    ),
)
async def retry_request(organization_id: Key, request_id: UUID, sent: Sent, db: Db) -> Response:
    """Carry out an approved request that could not be carried out before: its initiator, or an admin."""
    kinds = kinds_of(sent.runtime)

    async def retried(tx: Tx) -> OrganizationRequestOut:
        found = await retry(tx, sent.acting, kinds, organization_id, request_id)
        return OrganizationRequestOut.of(found)

    return await sent.answer(db, retried)
