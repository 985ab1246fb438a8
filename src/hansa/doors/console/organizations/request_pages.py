"""Requests of an organization: what each asks, who has approved it, and the decision of the person.

A page states what a decision brings about before it is made: an approval may be the last one that is needed.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson, see_other
from hansa.doors.console.api_acts import API, act_as_person
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.in_process import InnerCall, call_within
from hansa.rooms import organizations, people

from .pages import LIST, Key, held, organization_page, organization_router, outcome
from .requests_in_words import Asked, people_in

router = organization_router()

PAGE = "/treasury/requests/{request_id}"
UNAUTHORIZED = 401


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
    organization = await db.read(lambda tx: held(tx, person, key))
    path = f"{API}/organizations/{organization.id}/treasury/requests/{request_id}"
    found = await call_within(request, InnerCall("GET", path), person.developer)
    if found.is_refusal:
        raise organizations.RequestUnknown
    names = await db.read(lambda tx: people.names_of(tx, sorted(people_in(found.content))))
    asked = Asked.of(found.content, names)
    own = person.developer.id
    is_concerned = own in {asked.initiator_id, found.content["body"].get("developer_id")}
    is_owner = organization.role is organizations.Role.OWNER
    return organization_page(
        request,
        "request.html",
        person,
        organization,
        form,
        status=status,
        section="/treasury",
        asked=asked,
        may_decide=asked.is_pending and is_owner and not is_concerned and own not in asked.approved_by,
        may_cancel=asked.is_pending and (own == asked.initiator_id or (is_owner and not is_concerned)),
        proof=_proof_of(person),
    )
