"""Work orders of an organization: opened with their reward held, their bids compared, awarded or cancelled."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson
from hansa.doors.console.access.forms import moment_in_utc, whole_number, with_decimal_point
from hansa.doors.console.api_acts import act_as_person
from hansa.doors.console.work_orders import Bid, WorkOrder, read_bids, read_order, read_orders
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.values.money import parse_positive
from hansa.rooms import catalogue, treasury
from hansa.rooms.organizations import Organization, Role

from .pages import LIST, Key, held, organization_page, organization_router, outcome

router = organization_router()

ORDERS_SHOWN = 50
MILESTONE_ROWS = 4
TEXTS = ("title", "spec", "acceptance_criteria")


class Compared(msgspec.Struct, frozen=True):
    """A bid with the verified jobs and the mark of its agent."""

    bid: Bid
    jobs: int
    mark: str | None
    is_cheapest: bool


@router.get("/work")
async def show_work(organization_id: Key, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The work orders of the organization, the newest first."""

    async def reading(tx: Tx) -> tuple[Organization, list[WorkOrder]]:
        organization = await held(tx, person, organization_id)
        return organization, await read_orders(tx, organization.id, ORDERS_SHOWN)

    organization, orders = await db.read(reading)
    return organization_page(
        request,
        "work.html",
        person,
        organization,
        section="/work",
        orders=orders,
        currency=runtime_of(request).settings.settlement_currency,
    )


@router.get("/work/new")
async def show_form(organization_id: Key, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The form of a new work order."""
    return await _form_page(request, person, db, organization_id)


@router.post("/work")
async def open_work_order(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """Offer work: its amount and fee are held from now on."""
    path = f"/organizations/{organization_id}/work-orders"
    answer = await act_as_person(request, sender, "POST", path, _offered(sender.form))
    address = (
        "" if answer.is_refused else f"{LIST}/{organization_id}/work/{answer.document['id']}?done=opened"
    )
    return await outcome(
        sender,
        answer,
        address,
        lambda refused, status: _form_page(
            request, sender.person, db, organization_id, refused, status=status
        ),
    )


@router.get("/work/{work_order_id}")
async def show_order(
    organization_id: Key, work_order_id: UUID, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """A work order with its bids beside each other. Raises: WorkOrderUnknown."""
    return await _order_page(request, person, db, organization_id, work_order_id)


@router.post("/work/{work_order_id}/award")
async def award_work_order(
    organization_id: Key, work_order_id: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """Award the work to a bid, at once or after the approvals that a payment of its price needs."""
    body = {"bid_id": sender.form.value("bid_id")}
    return await _ended(request, sender, db, organization_id, work_order_id, act="award", body=body)


@router.post("/work/{work_order_id}/cancel")
async def cancel_work_order(
    organization_id: Key, work_order_id: UUID, sender: Act, request: Request, db: Db
) -> Response:
    """End an open work order; what it held is free."""
    return await _ended(request, sender, db, organization_id, work_order_id, act="cancel", body=None)


async def _ended(
    request: Request,
    sender: Acting,
    db: Database,
    key: str,
    work_order_id: UUID,
    *,
    act: str,
    body: Mapping[str, Any] | None,
) -> Response:
    path = f"/organizations/{key}/work-orders/{work_order_id}/{act}"
    answer = await act_as_person(request, sender, "POST", path, body)

    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _order_page(request, sender.person, db, key, work_order_id, form=form, status=status)

    base = f"{LIST}/{key}"
    return await outcome(sender, answer, f"{base}/work/{work_order_id}?done={act}", refused, base=base)


def _offered(form: SentForm) -> dict[str, Any]:
    titles, amounts = form.values("milestone_title"), form.values("milestone_amount")
    milestones = [
        {"title": title.strip(), "amount": with_decimal_point(amount.strip())}
        for title, amount in zip(titles, amounts, strict=False)
        if title.strip() or amount.strip()
    ]
    return {
        **{name: form.value(name).strip() for name in TEXTS},
        "amount": with_decimal_point(form.value("amount").strip()),
        "milestones": milestones,
        "skills": [skill.strip() for skill in form.value("skills").split(",") if skill.strip()],
        "bids_until": moment_in_utc(form.value("bids_until")),
        "submit_days": whole_number(form.value("submit_days")),
        "review_days": whole_number(form.value("review_days")),
        "auto_approve": form.value("auto_approve") == "true",
    }


async def _form_page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    organization = await db.read(lambda tx: held(tx, person, key, Role.ADMIN))
    return organization_page(
        request,
        "work-new.html",
        person,
        organization,
        form,
        status=status,
        section="/work",
        rows=range(MILESTONE_ROWS),
        currency=runtime_of(request).settings.settlement_currency,
    )


async def _order_page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    work_order_id: UUID,
    *,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:

    async def reading(tx: Tx) -> tuple[Organization, WorkOrder, list[Bid], Mapping[str, int]]:
        organization, order, bids = await read_together(
            tx,
            lambda tx: held(tx, person, key),
            lambda tx: read_order(tx, work_order_id),
            lambda tx: read_bids(tx, person.developer, work_order_id),
        )
        if order.treasury_did != organization.treasury_did:
            raise treasury.WorkOrderUnknown
        dids = [bid.provider_did for bid in bids]
        return organization, order, bids, await catalogue.verified_jobs_of(tx, dids)

    organization, order, bids, jobs = await db.read(reading)
    return organization_page(
        request,
        "work-order.html",
        person,
        organization,
        form,
        status=status,
        section="/work",
        order=order,
        bids=_compared(order, bids, jobs),
        currency=runtime_of(request).settings.settlement_currency,
    )


def _compared(order: WorkOrder, bids: Sequence[Bid], jobs: Mapping[str, int]) -> list[Compared]:
    """The bids that count, the cheapest first; of an order that has ended the winner first."""
    shown = [bid for bid in bids if bid.status != "withdrawn"]
    live = [parse_positive(bid.price) for bid in shown if bid.status == "live"]
    least = min(live, default=None)
    compared = [
        Compared(
            bid,
            jobs.get(bid.provider_did, 0),
            catalogue.grade_of(jobs.get(bid.provider_did, 0)).mark,
            is_cheapest=order.is_open and parse_positive(bid.price) == least,
        )
        for bid in shown
    ]
    return sorted(compared, key=lambda one: (one.bid.status != "won", parse_positive(one.bid.price)))
