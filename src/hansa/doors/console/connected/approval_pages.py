"""Decision of a person on one payment that an agent, or a client under a connection, may not make on its own."""

from collections.abc import Sequence
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    Act,
    Acting,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    see_other,
)
from hansa.doors.console.account.home_page import work_of_organization
from hansa.doors.console.organizations.requests_in_words import sentence_of
from hansa.doors.console.own_agents.approved import Listed
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents, organizations, treasury

router = APIRouter(
    prefix="/account/approvals",
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


INBOX_SHOWN = 100


class Inbox(msgspec.Struct, frozen=True):
    """Everything that the page shows; `waiting` counts the payments that wait."""

    approvals: Sequence[tuple[str, agents.Approval]]
    waiting: int
    requests: Sequence[organizations.WaitingRequest]
    work: Sequence[treasury.WaitingWork]


@router.get("")
async def show_approvals(person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """Requests, work and disputes of organizations, payments of own agents that wait for a decision, then payments that were decided."""

    async def reading(tx: Tx) -> Inbox:
        return Inbox(
            *await agents.approval_inbox(tx, person.developer, INBOX_SHOWN),
            await organizations.waiting_for_person(tx, person.developer.id, INBOX_SHOWN),
            await treasury.work_waiting_for(tx, person.developer.id),
        )

    inbox = await db.read(reading)
    currency = runtime_of(request).settings.settlement_currency
    return account_page(
        request,
        "connected/approvals.html",
        person,
        listed=[Listed.of(did, approval, currency) for did, approval in inbox.approvals],
        waiting=inbox.waiting,
        requests=[(one, sentence_of(one.kind, one.body, {}, currency)) for one in inbox.requests],
        work=[(one, item) for one in inbox.work for item in work_of_organization(one)],
    )


@router.get("/{approval_id:uuid}")
async def show_approval(approval_id: UUID, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """Payee, amount, client and request of the payment."""
    return await _page(request, person, db, approval_id)


@router.post("/{approval_id:uuid}/approve")
async def approve(approval_id: UUID, sender: Act, request: Request, db: Db) -> Response:
    """Approve this payment, once."""
    return await _decide(request, sender, db, approval_id, is_approved=True)


@router.post("/{approval_id:uuid}/deny")
async def deny(approval_id: UUID, sender: Act, request: Request, db: Db) -> Response:
    """Deny this payment."""
    return await _decide(request, sender, db, approval_id, is_approved=False)


async def _decide(
    request: Request, sender: Acting, db: Db, approval_id: UUID, *, is_approved: bool
) -> Response:
    person = sender.person

    async def decide(tx: Tx) -> None:
        did, _ = await agents.own_approval(tx, person.developer, approval_id)
        await agents.decide_approval(
            tx, person.developer, did, approval_id, is_approved=is_approved, in_browser=True
        )

    try:
        await db.transaction(decide)
    except Refused as refusal:
        return await _page(
            request, person, db, approval_id, sender.form.refused(refusal), status=refusal.status
        )
    return see_other(f"/account/approvals/{approval_id}?done={'approved' if is_approved else 'denied'}")


async def _page(
    request: Request,
    person: SignedIn,
    db: Db,
    approval_id: UUID,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    did, approval = await db.read(lambda tx: agents.own_approval(tx, person.developer, approval_id))
    currency = runtime_of(request).settings.settlement_currency
    return account_page(
        request,
        "connected/approval.html",
        person,
        form,
        status=status,
        did=did,
        listed=Listed.of(did, approval, currency),
        done=request.query_params.get("done", ""),
    )
