"""Administrators and the areas of each, which another administrator gives and withdraws (decision 0235)."""

from typing import Annotated

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import SentForm, SignedIn
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.rooms import people

from .pages import (
    PlatformAct,
    PlatformAdministrator,
    administration_page,
    administration_router,
    carry_out,
    reason_in,
)

router = administration_router()

ADMINISTRATORS = "/administration/administrators"
DeveloperId = Annotated[int, Path(ge=1, le=2**63 - 1)]
AREAS_IN_WORDS = {
    "admin_platform": "Platform: registry card, keys, policies, jobs, audit log",
    "admin_federation": "Federation: peers, invitations of registries, licences",
    "admin_treasury": "Treasury: units, awards, pools",
    "admin_enforcement": "Enforcement: suspension, disputes, slash requests",
    "admin_support": "Support: tickets, reports, invitations of developers",
}


@router.get(ADMINISTRATORS)
async def list_administrators(person: PlatformAdministrator, request: Request, db: Db) -> HTMLResponse:
    """Every administrator with its areas; those of a colleague have a form."""
    return await _page(request, person, db, SentForm())


@router.post(ADMINISTRATORS + "/{developer_id:int}")
async def change_areas(developer_id: DeveloperId, sender: PlatformAct, request: Request, db: Db) -> Response:
    """Give and withdraw areas of a colleague, once."""

    async def changed(tx: Tx) -> None:
        form = sender.form
        present = set(form.value("version").split(",")) & set(ADMIN_AREAS)
        administrator = sender.person.developer
        # Areas that the administrator lacks have no check box, and stay.
        wanted = (present - administrator.areas) | (set(form.values("areas")) & set(ADMIN_AREAS))
        await people.change_areas(
            tx, administrator, developer_id, present=present, wanted=wanted, reason=reason_in(form)
        )

    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _page(request, sender.person, db, form, status=status, opened=developer_id)

    return await carry_out(request, sender, changed, done=f"{ADMINISTRATORS}?done=changed", refused=refused)


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    status: int = 200,
    opened: int | None = None,
) -> HTMLResponse:
    return administration_page(
        request,
        "administrators.html",
        person,
        form,
        status=status,
        section=ADMINISTRATORS,
        administrators=await db.read(people.list_administrators),
        own_areas=[(area, AREAS_IN_WORDS[area]) for area in ADMIN_AREAS if area in person.areas],
        opened=opened,
    )
