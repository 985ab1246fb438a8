"""Requests of an organization: what each asks, who has approved it and who is missing, and the decision of the person.

A page states what a decision brings about before it is made: an approval may be the last one that is needed.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.administration.pages import Offset
from hansa.doors.console.api_acts import API, act_as_person
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.in_process import InnerCall, call_within
from hansa.rooms import organizations, people
from hansa.rooms.organizations import Organization, Reading, Role

from .pages import LIST, Key, held, organization_page, organization_router, outcome
from .requests_in_words import Asked, people_in
from .treasury_tabs import treasury_tabs

router = organization_router()

PAGE = "/treasury/requests/{request_id}"
UNAUTHORIZED = 401
REQUESTS_SHOWN = 50


class Decisions(msgspec.Struct, frozen=True):
    """The acts that the person may carry out on a request."""

    approve: bool
    cancel: bool
    retry: bool

    @classmethod
    def of(cls, reading: Reading, organization: Organization, own: int) -> "Decisions":
        request, role = reading.request, organization.role or Role.VIEWER
        is_open = request.status == "PENDING" and organization.status == "active"
        approved = {one.developer_id for one in request.approvals}
        is_own, is_concerned = own == request.initiator_id, own == request.concerned_id
        is_refused = request.reason is not None and len(approved) >= reading.approvals_needed
        return cls(
            approve=is_open and own in reading.eligible and own not in approved,
            cancel=is_open and not is_concerned and (is_own or role is Role.OWNER),
            retry=is_open and is_refused and (is_own or role >= Role.ADMIN),
        )


@router.get("/treasury/requests")
async def show_requests(
    organization_id: Key, person: SignedInPerson, request: Request, db: Db, *, offset: Offset = 0
) -> HTMLResponse:
    """The requests, the newest first, each with the approvals that it had to get."""

    async def reading(
        tx: Tx,
    ) -> tuple[Organization, list[organizations.Request], int, Mapping[int, str]]:
        organization = await held(tx, person, organization_id)
        found, total = await organizations.requests_in(
            tx, organization.id, limit=REQUESTS_SHOWN, offset=offset
        )
        return organization, found, total, await people.names_of(tx, people_in(found))

    organization, found, total, names = await db.read(reading)
    currency = runtime_of(request).settings.settlement_currency
    return organization_page(
        request,
        "requests.html",
        person,
        organization,
        section="/treasury",
        tabs=treasury_tabs(organization, "/treasury/requests"),
        requests=[Asked.at_creation(one, names, currency) for one in found],
        total=total,
        offset=offset,
        shown_at_most=REQUESTS_SHOWN,
    )


@router.get(PAGE)
async def show_request(
    organization_id: Key, request_id: UUID, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """One request, and the decision on it. Raises: OrganizationUnknown, RequestUnknown."""
    return await _page(request, person, db, organization_id, request_id)


@router.post(f"{PAGE}/approve")
async def approve_request(
    organization_id: Key, request_id: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """Approve with the code of the app, or the password; the last approval that is needed carries the request out."""
    proof = _proof_of(sender.person)
    body = {proof: sender.form.value(proof) or None}
    return await _decided(request, sender, db, organization_id, request_id, act="approve", body=body)


@router.post(f"{PAGE}/reject")
async def reject_request(
    organization_id: Key, request_id: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """Reject the request, which ends it."""
    body = {"reason": sender.form.value("reason").strip() or None}
    return await _decided(request, sender, db, organization_id, request_id, act="reject", body=body)


@router.post(f"{PAGE}/cancel")
async def cancel_request(
    organization_id: Key, request_id: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """Cancel the request."""
    return await _decided(request, sender, db, organization_id, request_id, act="cancel", body=None)


@router.post(f"{PAGE}/retry")
async def retry_request(
    organization_id: Key, request_id: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """Carry out an approved request that could not be carried out before."""
    return await _decided(request, sender, db, organization_id, request_id, act="retry", body=None)


async def _decided(
    request: Request,
    sender: Acting,
    db: Database,
    key: str,
    request_id: UUID,
    *,
    act: str,
    body: Mapping[str, Any] | None,
) -> Response:
    path = f"{key}/treasury/requests/{request_id}"
    answer = await act_as_person(request, sender, "POST", f"/organizations/{path}/{act}", body)
    if answer.is_refused and act == "approve" and await _is_approved(request, sender.person, path):
        # The second of two clicks has a code that the first one used up.
        return see_other(f"{LIST}/{path}?done=approve")

    async def refused(form: SentForm, status: int) -> HTMLResponse:
        if status == UNAUTHORIZED:
            form = SentForm(form.fields, {_proof_of(sender.person): form.message or ""}, form.message)
        return await _page(request, sender.person, db, key, request_id, form=form, status=status)

    return await outcome(sender, answer, f"{LIST}/{path}?done={act}", refused)


def _proof_of(person: SignedIn) -> str:
    """The field that proves the presence of the person."""
    return "totp_code" if person.developer.has_second_factor else "password"


async def _is_approved(request: Request, person: SignedIn, path: str) -> bool:
    found = await call_within(request, InnerCall("GET", f"{API}/organizations/{path}"), person.developer)
    return not found.is_refusal and person.developer.id in {
        one["developer_id"] for one in found.content["approvals"]
    }


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    request_id: UUID,
    *,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    runtime = runtime_of(request)

    async def reading(tx: Tx) -> tuple[Organization, Reading, Mapping[int, str]]:
        organization = await held(tx, person, key)
        found = await organizations.request_in(tx, organizations.kinds_of(runtime), organization, request_id)
        return organization, found, await people.names_of(tx, people_in([found.request], found.eligible))

    organization, found, names = await db.read(reading)
    return organization_page(
        request,
        "request.html",
        person,
        organization,
        form,
        status=status,
        section="/treasury",
        tabs=treasury_tabs(organization, "/treasury/requests"),
        asked=Asked.of(found, names, runtime.settings.settlement_currency),
        may=Decisions.of(found, organization, person.developer.id),
        proof=_proof_of(person),
    )
