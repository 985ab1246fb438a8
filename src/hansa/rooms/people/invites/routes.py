"""HTTP doors of invitations."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unauthorized

from . import invite
from .errors import AreaOverreach, InviteGone
from .schemas import InviteInfo, InvitesIn, InvitesPage, InvitesQuery, MadeInviteOut

router = APIRouter(prefix="/admin/invite-codes", tags=["administrators"], route_class=GuardedRoute)

Administrator = Annotated[Developer, admin_holding("admin_support")]


@router.post(
    "/generate",
    status_code=201,
    responses=problems(Unauthorized, AreaOverreach, Invalid, BodyInvalid),
)
async def generate_invites(
    body: InvitesIn, administrator: Administrator, db: Db, config: Config
) -> list[MadeInviteOut]:
    """Create invitations. Their codes are shown only once."""
    made = await db.transaction(
        lambda tx: invite.make_invites(
            tx,
            administrator,
            count=body.count,
            grants_admin=body.grants_admin,
            flags=body.admin_flags,
            max_uses=body.max_uses,
            lifetime_days=body.expires_days,
            note=body.note or None,
        )
    )
    return [MadeInviteOut.made(one, config.base_url) for one in made]


@router.get("", responses=problems(Unauthorized, Invalid))
async def list_invites(_: Administrator, query: Annotated[InvitesQuery, Query()], db: Db) -> InvitesPage:
    """Every invitation, newest first."""
    invites, total = await db.read(lambda tx: invite.list_invites(tx, limit=query.limit, offset=query.offset))
    return InvitesPage.of(invites, total, query)


@router.delete("/{code}", responses=problems(Unauthorized, InviteGone, Invalid))
async def revoke_invite(
    code: Annotated[str, Path(max_length=64)], administrator: Administrator, db: Db
) -> InviteInfo:
    """Revoke an active invitation, by its code or id."""
    return InviteInfo.of(await db.transaction(lambda tx: invite.revoke_invite(tx, administrator, code)))
