"""Invitations over HTTP: signed, listed, revoked and accepted by administrators, redeemed by the registry that accepts."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request

from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, admin_holding
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import HostRefused, Invalid, TooManyRequests, Unauthorized
from hansa.rooms.federation.charter import KeyDoesNotOpen
from hansa.rooms.federation.identity import FederationOff
from hansa.rooms.federation.peers import PeerNameRefused, PeerUnreachable, RootCollision, view_of

from .accepting import AcceptedOut, accept
from .errors import (
    AcceptanceRefused,
    InvitationRefused,
    InvitationUnknown,
    InvitationUsed,
    OperatorNotInvited,
)
from .inviting import invite, open_invitations, revoke_invitation
from .redeeming import redeem
from .schemas import (
    AcceptIn,
    InvitationIn,
    InvitationOut,
    OpenInvitationsOut,
    RedeemedOut,
    RedeemIn,
    RevokedInvitationOut,
)

invitations_admin_router = APIRouter(
    prefix="/admin/federation/invitations", tags=["administrators"], route_class=GuardedRoute
)
invitations_router = APIRouter(
    tags=["public"], route_class=GuardedRoute, dependencies=[Depends(within_read_limit)]
)

Administrator = Annotated[Developer, admin_holding("admin_federation")]

ADMINISTERED = (Unauthorized, Invalid, BodyInvalid, FederationOff, KeyDoesNotOpen)
VERIFIED = (InvitationRefused, HostRefused, PeerNameRefused, PeerUnreachable, RootCollision)


@invitations_admin_router.post(
    "", status_code=201, responses=problems(*ADMINISTERED, OperatorNotInvited, PeerNameRefused)
)
async def invite_registry(
    body: InvitationIn, administrator: Administrator, request: Request
) -> InvitationOut:
    """Sign an invitation for one registry. Send it to its administrators by a channel that others do not read.

    With `operator` it is for the operator registry of this name, which receives its certificates when it accepts.
    """
    return InvitationOut.of(await invite(runtime_of(request), administrator, body.lifetime, body.operator))


@invitations_admin_router.get("", responses=problems(Unauthorized))
async def list_open_invitations(_: Administrator, db: Db) -> OpenInvitationsOut:
    """The invitations that can be redeemed, newest first, at most 100. An invitation itself is shown only when it is made."""
    return OpenInvitationsOut.of(await db.read(open_invitations))


@invitations_admin_router.delete("/{jti:uuid}", responses=problems(Unauthorized, InvitationUnknown))
async def revoke_open_invitation(jti: UUID, administrator: Administrator, db: Db) -> RevokedInvitationOut:
    """Revoke an invitation that nobody has redeemed: it is refused from then on."""
    await db.transaction(lambda tx: revoke_invitation(tx, administrator, jti))
    return RevokedInvitationOut(id=jti)


@invitations_admin_router.post(
    "/accept", status_code=201, responses=problems(*ADMINISTERED, *VERIFIED, AcceptanceRefused)
)
async def accept_invitation(body: AcceptIn, administrator: Administrator, request: Request) -> AcceptedOut:
    """Accept the invitation of another registry: both registries are peers afterwards. May be repeated.

    The answer states whether the other registry reaches this one: its federation port may be closed to it.
    """
    runtime = runtime_of(request)
    accepted = await accept(runtime, administrator, body.invitation, body.limit())
    view = await runtime.database.read(lambda tx: view_of(tx, accepted.peer))
    return AcceptedOut.of_accepted(view, accepted)


@invitations_router.post(
    "/federation/invitations/redeem",
    status_code=201,
    response_model_exclude_none=True,
    responses=problems(
        FederationOff, TooManyRequests, BodyInvalid, *VERIFIED, InvitationUnknown, InvitationUsed
    ),
)
async def redeem_invitation(_: Public, body: RedeemIn, request: Request) -> RedeemedOut:
    """Redeem an invitation of this registry. A repeat by the same key, address and trust bundle gets the same answer."""
    return RedeemedOut.of(await redeem(runtime_of(request), body.acceptance, is_to_reach=body.reach is True))
