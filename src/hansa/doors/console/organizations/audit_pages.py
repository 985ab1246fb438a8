"""The record of what was done in an organization, for its admins."""

from fastapi import Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SignedInPerson
from hansa.doors.console.administration.pages import Offset
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import organizations, people
from hansa.rooms.organizations import Done, Organization, Role

from .pages import Key, held, organization_page, organization_router

router = organization_router()

ACTS_SHOWN = 50


@router.get("/audit")
async def show_audit(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db, *, offset: Offset = 0
) -> HTMLResponse:
    """The acts in the organization, the newest first."""

    async def reading(tx: Tx) -> tuple[Organization, list[Done], int, dict[int, str]]:
        organization = await held(tx, person, organization_id, Role.ADMIN)
        acts, total = await organizations.acts_in(tx, organization.id, limit=ACTS_SHOWN, offset=offset)
        return organization, acts, total, await people.names_of(tx, sorted({act.actor for act in acts}))

    organization, acts, total, names = await db.read(reading)
    return organization_page(
        request,
        "audit.html",
        person,
        organization,
        section="/audit",
        acts=acts,
        names=names,
        total=total,
        offset=offset,
        shown_at_most=ACTS_SHOWN,
    )
