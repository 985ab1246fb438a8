"""Admission of other registries by a key, for administrators of federation."""

from typing import Literal
from uuid import UUID

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import SentForm, SignedIn, act_once, whole_number
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms import federation

from .pages import (
    SHOWN,
    FederationAct,
    FederationAdministrator,
    Offset,
    administration_page,
    administration_router,
    carry_out,
    reason_in,
)

router = administration_router()


@router.get("/administration/admissions")
async def list_admissions(
    person: FederationAdministrator, request: Request, db: Db, *, offset: Offset = 0
) -> HTMLResponse:
    """Every admission, newest first, without its key."""
    return await _page(request, person, db, SentForm(), offset=offset)


@router.post("/administration/admissions")
async def admit_registry(sender: FederationAct, request: Request, db: Db, settings: Config) -> Response:
    """Admit another registry; its key is shown once."""
    form = sender.form

    async def admitted(tx: Tx) -> federation.IssuedLicenceOut:
        issued = await federation.issue_licence(
            tx,
            sender.person.developer,
            own_domain=settings.trust_domain,
            trust_domain=body.trust_domain,
            note=body.note,
            ttl_days=body.expires_in_days,
        )
        return federation.IssuedLicenceOut.issued(issued)

    try:
        days = form.value("expires_in_days").strip()
        body = form.read_as(
            federation.LicenceIn,
            note=form.value("note").strip() or None,
            expires_in_days=whole_number(days) if days else None,
        )
        outcome = await act_once(request, sender, federation.IssuedLicenceOut, admitted)
    except Refused as refusal:
        return await _page(request, sender.person, db, form.refused(refusal), code=refusal.status)
    return administration_page(request, "admitted.html", sender.person, issued=outcome)


@router.post("/administration/admissions/{licence_id:uuid}/{act}")
async def change_admission(
    licence_id: UUID,
    act: Literal["suspend", "reinstate", "revoke"],
    sender: FederationAct,
    request: Request,
    db: Db,
) -> Response:
    """Suspend, reinstate or revoke an admission."""

    async def changed(tx: Tx) -> None:
        reason = reason_in(sender.form)
        await federation.change_licence(tx, sender.person.developer, licence_id, act, reason)

    return await carry_out(
        request,
        sender,
        changed,
        done=f"/administration/admissions?done={act}",
        refused=lambda form, status: _page(request, sender.person, db, form, code=status),
    )


async def _page(
    request: Request, person: SignedIn, db: Database, form: SentForm, *, offset: int = 0, code: int = 200
) -> HTMLResponse:
    found, total = await db.read(lambda tx: federation.list_licences(tx, limit=SHOWN, offset=offset))
    return administration_page(
        request,
        "admissions.html",
        person,
        form,
        status=code,
        admissions=[federation.LicenceOut.of(one) for one in found],
        total=total,
        offset=offset,
    )
