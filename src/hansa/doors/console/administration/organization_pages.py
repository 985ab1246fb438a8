"""Owners of an organization for administrators of support: where too few can act, one is appointed."""

from typing import Annotated
from urllib.parse import quote

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import FormRefused, SentForm, SignedIn, see_other, whole_number
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import organizations

from .pages import (
    SupportAct,
    Supporter,
    administration_page,
    administration_router,
    carry_out,
    reason_in,
)

router = administration_router()

PAGE = "/administration/organizations"
KEY_MAX_CHARACTERS = 64
BIGINT_MAX = 2**63 - 1
NONE_SUCH = "There is no organization with this short name or id."

Key = Annotated[str, Path(max_length=KEY_MAX_CHARACTERS)]
Wanted = Annotated[str, Query(max_length=KEY_MAX_CHARACTERS)]


@router.get(PAGE)
async def find_organization(
    person: Supporter, request: Request, db: Db, *, organization: Wanted = ""
) -> Response:
    """The form that finds an organization; it leads to the page of the one that is found."""
    wanted, form, status = organization.strip(), SentForm(), 200
    if wanted:
        try:
            found = await db.read(lambda tx: organizations.owners_of(tx, wanted))
        except organizations.OrganizationUnknown as refusal:
            form, status = SentForm([], {"organization": NONE_SUCH}, NONE_SUCH), refusal.status
        else:
            return see_other(f"{PAGE}/{found.organization.slug}")
    return administration_page(
        request, "organizations.html", person, form, status=status, wanted=wanted, found=None
    )


@router.get(f"{PAGE}/{{organization_id}}")
async def show_owners(organization_id: Key, person: Supporter, request: Request, db: Db) -> HTMLResponse:
    """The owners of an organization, by number, and the form that appoints one. Raises: OrganizationUnknown."""
    return await _page(request, person, db, organization_id, SentForm())


@router.post(f"{PAGE}/{{organization_id}}/owners")
async def appoint_owner(
    organization_id: Key, sender: SupportAct, request: Request, db: Db, *, seal: Sealing, settings: Config
) -> Response:
    """Announce to the members that a developer is to be an owner."""

    async def appointed(tx: Tx) -> None:
        await organizations.appoint_owner(
            tx,
            seal,
            sender.person.developer,
            organization_id,
            developer_id=_developer_in(sender.form),
            reason=reason_in(sender.form),
            base_url=settings.base_url,
        )

    return await carry_out(
        request,
        sender,
        appointed,
        done=f"{PAGE}/{quote(organization_id, safe='')}?done=appointed",
        refused=lambda form, status: _page(request, sender.person, db, organization_id, form, status=status),
    )


def _developer_in(form: SentForm) -> int:
    """The number of the developer. Raises: FormRefused."""
    number = whole_number(form.value("developer_id"))
    if not isinstance(number, int) or not 0 < number <= BIGINT_MAX:
        raise FormRefused({"developer_id": "Enter the id of a developer, such as 7."})
    return number


async def _page(
    request: Request, person: SignedIn, db: Database, key: str, form: SentForm, *, status: int = 200
) -> HTMLResponse:
    found = await db.read(lambda tx: organizations.owners_of(tx, key))
    return administration_page(
        request,
        "organizations.html",
        person,
        form,
        status=status,
        wanted=found.organization.slug,
        found=found,
    )
