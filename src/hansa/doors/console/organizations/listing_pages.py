"""The listing of an organization: drafted, changed, brought into review, and taken back. Its terms are final once it is approved."""

from collections.abc import Mapping
from typing import Any, Literal

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, SentForm, SignedIn, SignedInPerson
from hansa.doors.console.access.forms import moment_in_utc, whole_number, with_decimal_point
from hansa.doors.console.api_acts import act_as_person
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.rooms import exchange
from hansa.rooms.organizations import Organization

from .pages import LIST, Key, held, organization_page, organization_router, outcome

router = organization_router()

NUMBERS = ("total", "per_owner_max", "revenue_bps", "term_months")
AMOUNTS = ("price", "min_raise", "tick")
MOMENTS = ("opens_at", "closes_at")
LEVIES_SHOWN = 31
LIVE_NO_MORE = ("EXPIRED", "DELISTED", "FAILED")
# Members of the request that have another name in the form.
FIELDS = {"url": "prospectus_url", "sha256": "prospectus_sha256", "prospectus": "prospectus_url"}


@router.get("/listing")
async def show_listings(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """The listings of the organization, and the form of a draft."""
    return await _page(request, person, db, organization_id)


@router.post("/listing")
async def draft_listing(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """Draft a listing."""
    form = sender.form
    body = {
        "organization_id": organization_id,
        "terms": {"ref": form.value("ref").strip(), **_terms(form)},
    }
    answer = await act_as_person(request, sender, "POST", "/agora/listings", body)
    return await outcome(
        sender,
        answer,
        f"{LIST}/{organization_id}/listing?done=drafted",
        lambda refused, status: _page(request, sender.person, db, organization_id, refused, status=status),
        **FIELDS,
    )


@router.post("/listing/{ref}")
async def change_listing(
    organization_id: Key, ref: exchange.RefInPath, sender: Act, request: Request, db: Db
) -> Response:
    """Change the terms of a draft."""
    answer = await act_as_person(request, sender, "PATCH", f"/agora/listings/{ref}", _terms(sender.form))
    return await outcome(
        sender,
        answer,
        f"{LIST}/{organization_id}/listing?done=changed",
        lambda refused, status: _page(request, sender.person, db, organization_id, refused, status=status),
        **FIELDS,
    )


@router.post("/listing/{ref}/{act}")
async def move_listing(
    organization_id: Key,
    ref: exchange.RefInPath,
    act: Literal["submit", "withdraw"],
    sender: Act,
    request: Request,
    *,
    db: Db,
) -> Response:
    """Bring a draft into review, at once or after the approvals of the organization, or take it back."""
    answer = await act_as_person(request, sender, "POST", f"/agora/listings/{ref}/{act}")
    base = f"{LIST}/{organization_id}"
    return await outcome(
        sender,
        answer,
        f"{base}/listing?done={act}",
        lambda refused, status: _page(request, sender.person, db, organization_id, refused, status=status),
        base=base,
    )


def _terms(form: SentForm) -> Mapping[str, Any]:
    """The terms of a form, as the API takes them."""
    return {
        **{name: whole_number(form.value(name)) for name in NUMBERS},
        **{name: with_decimal_point(form.value(name).strip()) for name in AMOUNTS},
        **{name: moment_in_utc(form.value(name)) for name in MOMENTS},
        "prospectus": {
            "url": form.value("prospectus_url").strip(),
            "sha256": form.value("prospectus_sha256").strip().lower(),
        },
    }


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[Organization, list[exchange.ShownListing], list[exchange.LeviedDay]]:
        organization = await held(tx, person, key)
        found = await exchange.read_of_organization(tx, organization.id)
        newest = next((one.listing.ref for one in found if one.listing.sold), None)
        levies = [] if newest is None else await exchange.newest_levies(tx, newest, LEVIES_SHOWN)
        return organization, found, levies

    organization, found, levies = await db.read(reading)
    settings = runtime_of(request).settings
    live = next((one for one in found if one.listing.status not in LIVE_NO_MORE), None)
    return organization_page(
        request,
        "listing.html",
        person,
        organization,
        form,
        status=status,
        section="/listing",
        live=live,
        listings=found,
        earning=next((one for one in found if one.listing.sold), None),
        levies=levies,
        currency=settings.settlement_currency,
    )
