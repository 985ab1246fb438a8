"""Settings of an organization: name, description, visibility, and last its end."""

from collections.abc import Sequence
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    Act,
    FormRefused,
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    act_once,
    see_other,
)
from hansa.doors.console.api_acts import act_as_person
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms import catalogue, organizations
from hansa.rooms.organizations import Organization, Role

from .pages import LIST, Key, held, organization_page, organization_router, outcome

router = organization_router()

SLUG_TYPED = "The slug of the organization confirms this act; another one was typed."


@router.get("/settings")
async def show_settings(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """Name, description and visibility, and for an owner the end of the organization."""
    return await _page(request, person, db, organization_id)


@router.post("/settings")
async def change_settings(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """Change name, description and visibility."""
    body = {name: sender.form.value(name).strip() for name in ("name", "description", "visibility")}
    answer = await act_as_person(request, sender, "PATCH", f"/organizations/{organization_id}", body)
    return await outcome(
        sender,
        answer,
        f"{LIST}/{organization_id}/settings?done=saved",
        lambda refused, status: _page(request, sender.person, db, organization_id, refused, status=status),
    )


@router.post("/delete")
async def delete_organization(
    organization_id: Key, sender: ProvedAct, request: Request, db: Db, cards: catalogue.CardWrites
) -> Response:
    """Delete the organization, whose slug was typed."""
    person, form = sender.person, sender.form
    runtime = runtime_of(request)

    async def deleted(tx: Tx) -> organizations.OrganizationDeletedOut:
        organization = await held(tx, person, organization_id, Role.OWNER)
        if form.value("typed_name").strip() != organization.slug:
            raise FormRefused({"typed_name": SLUG_TYPED})
        await organizations.delete(tx, person.developer, organization_id, runtime)
        return organizations.OrganizationDeletedOut()

    try:
        await act_once(request, sender, organizations.OrganizationDeletedOut, deleted, database=cards)
    except Refused as refusal:
        refused = form.refused(refusal)
        return await _page(request, person, db, organization_id, refused, status=refusal.status)
    return see_other(f"{LIST}?done=deleted")


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[Organization, Sequence[dict[str, Any]]]:
        organization = await held(tx, person, key, Role.ADMIN)
        is_owner = organization.role is Role.OWNER
        return organization, await organizations.blockers_of(
            tx, organization, runtime_of(request)
        ) if is_owner else ()

    organization, blockers = await db.read(reading)
    return organization_page(
        request,
        "settings.html",
        person,
        organization,
        form,
        status=status,
        section="/settings",
        blockers=blockers,
    )
