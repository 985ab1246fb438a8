"""Invitations for administrators of support: made, listed, revoked."""

from typing import Annotated

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import SentForm, SignedIn, act_once, whole_number
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import people

from .pages import (
    SHOWN,
    Offset,
    SupportAct,
    Supporter,
    administration_page,
    administration_router,
    carry_out,
)

router = administration_router()

InviteId = Annotated[str, Path(max_length=64)]
NUMBERS = ("count", "max_uses", "expires_days")


class Made(LazyModel):
    """New invitations with their codes, which are shown again only to the same form."""

    invites: list[people.MadeInviteOut]


@router.get("/administration/invites")
async def list_invites(person: Supporter, request: Request, db: Db, *, offset: Offset = 0) -> HTMLResponse:
    """Every invitation, newest first, without its code."""
    return await _page(request, person, db, SentForm(), offset=offset)


@router.post("/administration/invites")
async def make_invites(sender: SupportAct, request: Request, db: Db, settings: Config) -> Response:
    """Make invitations; their codes are shown once."""
    form = sender.form

    async def made(tx: Tx) -> Made:
        found = await people.make_invites(
            tx,
            sender.person.developer,
            count=body.count,
            grants_admin=body.grants_admin,
            flags=body.admin_flags,
            max_uses=body.max_uses,
            lifetime_days=body.expires_days,
            note=body.note or None,
        )
        return Made(invites=[people.MadeInviteOut.made(one, settings.base_url) for one in found])

    try:
        areas = form.values("areas")
        numbers = {name: whole_number(form.value(name)) for name in NUMBERS if form.value(name).strip()}
        body = form.read_as(
            people.InvitesIn,
            **{"expires_days": None, **numbers},
            grants_admin=bool(areas),
            admin_flags=areas or None,
        )
        outcome = await act_once(request, sender, Made, made)
    except Refused as refusal:
        return await _page(request, sender.person, db, form.refused(refusal), code=refusal.status)
    return administration_page(request, "invites-made.html", sender.person, invites=outcome.invites)


@router.post("/administration/invites/{invite_id}/revoke")
async def revoke_invite(invite_id: InviteId, sender: SupportAct, request: Request, db: Db) -> Response:
    """Revoke the unused rest of an invitation."""
    return await carry_out(
        request,
        sender,
        lambda tx: people.revoke_invite(tx, sender.person.developer, invite_id),
        done="/administration/invites?done=revoked",
        refused=lambda form, status: _page(request, sender.person, db, form, code=status),
    )


async def _page(
    request: Request, person: SignedIn, db: Database, form: SentForm, *, offset: int = 0, code: int = 200
) -> HTMLResponse:
    found, total = await db.read(lambda tx: people.list_invites(tx, limit=SHOWN, offset=offset))
    return administration_page(
        request,
        "invites.html",
        person,
        form,
        status=code,
        invites=[people.InviteInfo.of(one) for one in found],
        total=total,
        offset=offset,
        areas=[area for area in ADMIN_AREAS if area in person.areas],
    )
