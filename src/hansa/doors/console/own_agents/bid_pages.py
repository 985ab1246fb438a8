"""Bids of own agents on work orders of organizations. A bid binds: an award makes the contract without another question."""

from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    Act,
    Acting,
    SentForm,
    SignedIn,
    SignedInPerson,
    see_other,
)
from hansa.doors.console.access.forms import with_decimal_point
from hansa.doors.console.api_acts import ApiAnswer
from hansa.doors.console.work_orders import DAY_SECONDS, read_bids, read_order
from hansa.foundation.plumbing.process.runtime import Db, runtime_of
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import agents

from .acting import act_as
from .pages import ACTS, READS, MyDid, agent_page, as_reader, choice_page, own_agent, path_of

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "/account/agents/{did}/work/{work_order_id}"
AGENTS_OFFERED = 100
# Refusals that are about one field and do not name it.
FIELD_OF_CODE = {"PRICE_TOO_HIGH": "price"}


@router.get("/account/bid/{work_order_id}", dependencies=[Depends(within_read_limit)])
async def choose_agent(work_order_id: UUID, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """Choose the own agent that bids on a work order. Raises: WorkOrderUnknown."""
    order, (owned, _) = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: read_order(tx, work_order_id),
            lambda tx: agents.oldest_of_developer(tx, person.developer.id, AGENTS_OFFERED),
        )
    )
    return choice_page(
        request,
        person,
        owned,
        act="Bid",
        lead="Choose the agent that does the work.",
        page=f"work/{order.id}",
        back=(f"/work/{order.id}", order.title),
    )


@router.get(PAGE, dependencies=READS)
async def show_bid(
    did: MyDid, work_order_id: UUID, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """A work order with the bids of an own agent. Raises: WorkOrderUnknown."""
    return await _page(request, person, db, did, work_order_id)


@router.post(PAGE, dependencies=ACTS)
async def bid(did: MyDid, work_order_id: UUID, sender: Act, request: Request, db: Db) -> Response:
    """Bid as the agent."""
    await own_agent(db, sender.person, did)
    form = sender.form
    body = {
        "price": with_decimal_point(form.value("price").strip()),
        "eta_seconds": _seconds(form.value("days")),
        "pitch": form.value("pitch").strip(),
    }
    answer = await act_as(request, sender, did, f"/work-orders/{work_order_id}/bids", body)
    return await _answered(request, sender, db, did, work_order_id, answer=answer, done="bid")


@router.post(f"{PAGE}/withdraw", dependencies=ACTS)
async def withdraw_bid(did: MyDid, work_order_id: UUID, sender: Act, request: Request, db: Db) -> Response:
    """Withdraw a bid while the time for bids lasts; one that was withdrawn is no trouble."""
    await own_agent(db, sender.person, did)
    path = f"/work-orders/{work_order_id}/bids/{sender.form.value('bid_id') or '-'}"
    answer = await act_as(request, sender, did, path, method="DELETE")
    return await _answered(request, sender, db, did, work_order_id, answer=answer, done="withdrawn")


async def _answered(
    request: Request,
    sender: Acting,
    db: Database,
    did: str,
    work_order_id: UUID,
    *,
    answer: ApiAnswer,
    done: str,
) -> Response:
    if not answer.is_refused or (done == "withdrawn" and answer.code == "BID_ENDED"):
        return see_other(f"{path_of(did)}/work/{work_order_id}?done={done}")
    refused = answer.on(sender.form, eta_seconds="days")
    if field := FIELD_OF_CODE.get(answer.code):
        refused = SentForm(refused.fields, {field: refused.message or ""}, refused.message)
    return await _page(request, sender.person, db, did, work_order_id, form=refused, status=answer.status)


def _seconds(days: str) -> int | str:
    """The seconds of a number of days; another text stays, for the API to refuse."""
    try:
        return round(float(with_decimal_point(days.strip())) * DAY_SECONDS)
    except (ValueError, OverflowError):
        return days


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    did: str,
    work_order_id: UUID,
    *,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    agent, order, bids = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: read_order(tx, work_order_id),
            lambda tx: read_bids(tx, as_reader(did, person), work_order_id),
        )
    )
    return agent_page(
        request,
        "own_agents/bid.html",
        person,
        agent,
        form,
        status=status,
        order=order,
        bids=bids,
        currency=runtime_of(request).settings.settlement_currency,
    )
