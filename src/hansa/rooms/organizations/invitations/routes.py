"""Invitations over HTTP."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, developer_acting, developer_holding
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, KeyReused
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, QuotaReached, Unauthorized
from hansa.foundation.values.paging import Page, Pagination
from hansa.rooms.organizations.errors import (
    AlreadyMember,
    GrantMissing,
    InvitationForAnother,
    InvitationUnknown,
    LimitReached,
    OrganizationNotActive,
    OrganizationUnknown,
    OrgRoleRequired,
    RequestExists,
    SessionRequired,
    TeamUnknown,
)
from hansa.rooms.organizations.repeating import Sent, status_of
from hansa.rooms.organizations.requests.schemas import WAITS, OrganizationRequestOut
from hansa.rooms.organizations.requests.tally import Reading
from hansa.rooms.organizations.rules import Role
from hansa.rooms.organizations.schemas import OrganizationDeletedOut, OrganizationOut

from .acts import accept, decline, invite, own_invitations, pending, revoke
from .schemas import (
    InvitationTokenIn,
    InvitedOut,
    OrganizationInvitationIn,
    OrganizationInvitationOut,
    OwnInvitationOut,
)

PAGE_MAX = 100
OFFSET_MAX = 2**31 - 1
CREATED = 201

router = APIRouter(
    prefix="/organizations/{organization_id}/invitations", tags=["organizations"], route_class=GuardedRoute
)
answering_router = APIRouter(
    prefix="/organizations/invitations", tags=["organizations"], route_class=GuardedRoute
)

Key = Annotated[str, Path(max_length=64)]
ReadingDeveloper = Annotated[Developer, developer_holding("orgs:read")]
WritingDeveloper = Annotated[Developer, developer_acting("orgs:write")]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Offset = Annotated[int, Query(ge=0, le=OFFSET_MAX)]


@answering_router.post(
    "/accept",
    response_model=OrganizationOut,
    responses=problems(
        Unauthorized,
        KeyReused,
        KeyInProgress,
        SessionRequired,
        InvitationUnknown,
        InvitationForAnother,
        OrganizationNotActive,
        GrantMissing,
        LimitReached,
        AlreadyMember,
        Invalid,
        BodyInvalid,
    ),
)
async def join_organization(body: InvitationTokenIn, sent: Sent, db: Db) -> Response:
    """Become a member. It takes a login to the account with the invited, verified address."""

    async def joined(tx: Tx) -> OrganizationOut:
        return OrganizationOut.of(await accept(tx, sent.developer, body.token))

    return await sent.answer(db, joined, body)


@answering_router.post(
    "/decline",
    response_model=OrganizationOut,
    responses=problems(
        Unauthorized,
        KeyReused,
        KeyInProgress,
        SessionRequired,
        InvitationUnknown,
        InvitationForAnother,
        Invalid,
        BodyInvalid,
    ),
)
async def decline_membership(body: InvitationTokenIn, sent: Sent, db: Db) -> Response:
    """Decline an invitation to the own address."""

    async def declined(tx: Tx) -> OrganizationOut:
        return OrganizationOut.of(await decline(tx, sent.developer, body.token))

    return await sent.answer(db, declined, body)


@answering_router.get("/mine", responses=problems(Unauthorized, Invalid))
async def read_own_invitations(
    developer: ReadingDeveloper, db: Db, limit: Limit = 50, offset: Offset = 0
) -> Page[OwnInvitationOut]:
    """The pending invitations to the own verified address, without their tokens."""
    found, total = await db.read(lambda tx: own_invitations(tx, developer, limit=limit, offset=offset))
    return Page(
        items=[OwnInvitationOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.post(
    "",
    status_code=201,
    response_model=InvitedOut,
    responses=WAITS
    | problems(
        Unauthorized,
        KeyReused,
        KeyInProgress,
        OrganizationUnknown,
        OrganizationNotActive,
        OrgRoleRequired,
        TeamUnknown,
        RequestExists,
        LimitReached,
        QuotaReached,
        Invalid,
        BodyInvalid,
    ),
)
async def send_invitation(
    organization_id: Key, body: OrganizationInvitationIn, sent: Sent, db: Db
) -> Response:
    """Invite an address by mail. A pending invitation of the address ends.

    A place that gives a right to approve needs the approvals of the highest tier; the mail is sent afterwards.
    """

    async def invited(tx: Tx) -> InvitedOut | OrganizationRequestOut:
        made = await invite(
            tx,
            sent.acting,
            organization_id,
            email=body.email.lower(),
            role=Role.named(body.role),
            team_ids=body.team_ids,
        )
        return OrganizationRequestOut.of(made) if isinstance(made, Reading) else InvitedOut.of(made)

    answer = await sent.answer(db, invited, body)
    answer.status_code = status_of(answer.body, CREATED)
    return answer


@router.get("", responses=problems(Unauthorized, OrganizationUnknown, OrgRoleRequired, Invalid))
async def read_invitations(
    organization_id: Key, developer: ReadingDeveloper, db: Db, limit: Limit = 50, offset: Offset = 0
) -> Page[OrganizationInvitationOut]:
    """The pending invitations of an own organization, newest first."""
    found, total = await db.read(
        lambda tx: pending(tx, developer, organization_id, limit=limit, offset=offset)
    )
    return Page(
        items=[OrganizationInvitationOut.of(one) for one in found],
        pagination=Pagination.of(total=total, limit=limit, offset=offset),
    )


@router.delete(
    "/{invitation_id}",
    responses=problems(Unauthorized, OrganizationUnknown, OrgRoleRequired, InvitationUnknown, Invalid),
)
async def revoke_invitation(
    organization_id: Key, invitation_id: UUID, developer: WritingDeveloper, db: Db
) -> OrganizationDeletedOut:
    """Revoke a pending invitation."""
    await db.transaction(lambda tx: revoke(tx, developer, organization_id, invitation_id))
    return OrganizationDeletedOut()
