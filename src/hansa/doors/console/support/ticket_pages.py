"""Own tickets: the list, the form of a new one, the conversation. A suspended person writes here too."""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import (
    AccountAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    see_other,
)
from hansa.doors.console.api_acts import act_as_person
from hansa.doors.console.own_agents.picker import with_dids
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.rooms import support

router = APIRouter(
    prefix="/account/support",
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

PAGE, ROUTE = "/account/support", "/support/tickets"
ON_A_PAGE = 50
State = Annotated[Literal["", "open", "waiting_for_user", "resolved", "closed"], Query()]
Before = Annotated[str, Query(pattern="^([0-9]{1,18})?$")]


@router.get("")
async def show_tickets(
    person: SignedInPerson,
    request: Request,
    db: Db,
    *,
    status: State = "",
    q: Annotated[str, Query(max_length=200)] = "",
    before: Before = "",
) -> HTMLResponse:
    """The own tickets of a state and a text, the newest first."""
    wanted = support.TicketFilter(
        ON_A_PAGE + 1,
        before=int(before) if before else None,
        status=status or None,
        text=q.strip() or None,
    )
    found = await db.read(lambda tx: support.list_tickets(tx, person.developer, wanted))
    chosen = {"status": status, "q": q}
    return account_page(
        request,
        "support/tickets.html",
        person,
        tickets=found[:ON_A_PAGE],
        chosen=chosen,
        filters=urlencode({name: value for name, value in chosen.items() if value}),
        older=found[ON_A_PAGE - 1].number if len(found) > ON_A_PAGE else None,
    )


@router.get("/new")
async def show_form(
    person: SignedInPerson,
    request: Request,
    *,
    category: Annotated[str, Query(max_length=20)] = "",
    agent: Annotated[str, Query(max_length=512)] = "",
    kind: Annotated[str, Query(alias="type", max_length=20)] = "",
    identifier: Annotated[str, Query(alias="id", max_length=64)] = "",
) -> HTMLResponse:
    """The form of a new ticket; the address fills in its subject."""
    return _form(request, person, category=category, agent=agent, type=kind, id=identifier)


@router.post("")
async def open_ticket(sender: AccountAct, request: Request, db: Db) -> Response:
    """Open a ticket."""
    form = (await with_dids(db, sender, "agent_did")).form
    body: dict[str, Any] = {name: form.value(name) for name in ("subject", "body", "category")}
    body["agent_did"] = form.value("agent_did").strip() or None
    kind, identifier = form.value("related_type"), form.value("related_id").strip()
    body["related"] = {"type": kind, "id": identifier} if kind else None
    answer = await act_as_person(request, sender, "POST", ROUTE, body)
    if answer.is_refused:
        refused = answer.on(sender.form, type="related_type", id="related_id")
        return _form(request, sender.person, refused, status=answer.status)
    return see_other(f"{PAGE}/{answer.document['id']}?done=opened")


@router.get("/{ticket_id:uuid}")
async def show_ticket(ticket_id: UUID, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """One own ticket. Raises: TicketUnknown."""
    return await _ticket(request, person, db, ticket_id)


@router.post("/{ticket_id:uuid}/{act}")
async def act_on_ticket(
    ticket_id: UUID,
    act: Literal["messages", "close", "reopen"],
    sender: AccountAct,
    request: Request,
    db: Db,
) -> Response:
    """Write a message, close the ticket, or open it again."""
    body = {"body": sender.form.value("body")} if act == "messages" else None
    answer = await act_as_person(request, sender, "POST", f"{ROUTE}/{ticket_id}/{act}", body)
    if answer.is_refused:
        form = answer.on(sender.form)
        return await _ticket(request, sender.person, db, ticket_id, form, status=answer.status)
    return see_other(f"{PAGE}/{ticket_id}?done={act}")


def _form(
    request: Request, person: SignedIn, form: SentForm | None = None, *, status: int = 200, **chosen: str
) -> HTMLResponse:
    shown = dict.fromkeys(("category", "agent", "type", "id"), "") | chosen
    return account_page(
        request, "support/new.html", person, form, status=status, section=f"{PAGE}/new", chosen=shown
    )


async def _ticket(
    request: Request,
    person: SignedIn,
    db: Database,
    ticket_id: UUID,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    thread = await db.read(lambda tx: support.read_ticket(tx, person.developer, ticket_id))
    return account_page(
        request,
        "support/ticket.html",
        person,
        form,
        status=status,
        section=f"{PAGE}/{ticket_id}",
        thread=thread,
        done=request.query_params.get("done", ""),
    )
