"""Tickets and reports for administrators of the support: the list, the conversation with internal notes, answers and changes."""

from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Acting, SentForm, SignedIn, whole_number
from hansa.doors.console.navigation import SUPPORT
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.values.visible_text import apart
from hansa.rooms import people, support

from .pages import (
    SHOWN,
    RefusedPage,
    SupportAct,
    Supporter,
    administration_page,
    administration_router,
    carry_out,
)

router = administration_router()

TICKETS = "/administration/support"
State = Literal["", "open", "waiting_for_user", "resolved", "closed"]
Category = Literal["", "account", "payment", "dispute", "agent", "federation", "security", "other", "abuse"]
Assignee = Annotated[str, Query(pattern=rf"^({support.NOBODY}|[1-9][0-9]{{0,17}})?$")]


@router.get(TICKETS)
async def show_tickets(
    person: Supporter,
    request: Request,
    db: Db,
    *,
    status: State = "",
    category: Category = "",
    assignee: Assignee = "",
    q: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[str, Query(pattern="^([0-9]{1,18})?$")] = "",
) -> HTMLResponse:
    """Tickets of everybody and reports, the newest first."""
    wanted = support.TicketFilter(
        SHOWN + 1,
        before=int(before) if before else None,
        status=status or None,
        category=category or None,
        assignee_id=None if not assignee else 0 if assignee == support.NOBODY else int(assignee),
        text=q.strip() or None,
    )
    found, names = await db.read(lambda tx: support.list_cases(tx, wanted))
    chosen = {"status": status, "category": category, "assignee": assignee, "q": q}
    return administration_page(
        request,
        "tickets.html",
        person,
        tickets=found[:SHOWN],
        names=names,
        chosen=chosen,
        filters=urlencode({name: value for name, value in chosen.items() if value}),
        older=found[SHOWN - 1].number if len(found) > SHOWN else None,
    )


@router.get(f"{TICKETS}/{{ticket_id:uuid}}")
async def show_ticket(ticket_id: UUID, person: Supporter, request: Request, db: Db) -> HTMLResponse:
    """One ticket with its internal notes. Raises: TicketUnknown."""
    return await _page(request, person, db, ticket_id)


@router.post(f"{TICKETS}/{{ticket_id:uuid}}/messages")
async def answer(
    ticket_id: UUID, sender: SupportAct, request: Request, db: Db, seal: Sealing, *, settings: Config
) -> Response:
    """Answer the author, or store an internal note."""
    is_note = sender.form.value("internal") != "false"

    async def written(tx: Tx) -> None:
        text = sender.form.read_as(support.SupportAnswerIn, internal=is_note).text
        if is_note:
            await support.write_note(tx, sender.person.developer, ticket_id, text)
        else:
            await support.answer_ticket(
                tx, seal, sender.person.developer, ticket_id, text, base_url=settings.base_url
            )

    done = f"{TICKETS}/{ticket_id}?done={'noted' if is_note else 'answered'}"
    return await carry_out(
        request,
        sender,
        written,
        done=done,
        refused=_page_of_refusal(request, sender, db, ticket_id),
    )


@router.post(f"{TICKETS}/{{ticket_id:uuid}}/change")
async def change(
    ticket_id: UUID, sender: SupportAct, request: Request, db: Db, seal: Sealing, *, settings: Config
) -> Response:
    """Change state, priority and assignee."""

    async def changed(tx: Tx) -> None:
        changes = sender.form.read_as(support.SupportTicketChangesIn, **_assignee_in(sender.form)).changes()
        await support.change_ticket(
            tx, seal, sender.person.developer, ticket_id, changes, base_url=settings.base_url
        )

    return await carry_out(
        request,
        sender,
        changed,
        done=f"{TICKETS}/{ticket_id}?done=changed",
        refused=_page_of_refusal(request, sender, db, ticket_id),
    )


def _page_of_refusal(request: Request, sender: Acting, db: Database, ticket_id: UUID) -> RefusedPage:
    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _page(request, sender.person, db, ticket_id, form, status=status)

    return refused


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    ticket_id: UUID,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    case, colleagues = await db.read(
        lambda tx: read_together(tx, lambda tx: support.read_case(tx, ticket_id), people.list_administrators)
    )
    reachable = support.BY_SUPPORT[case.thread.ticket.status]
    return administration_page(
        request,
        "ticket.html",
        person,
        form,
        status=status,
        section=f"{TICKETS}/{ticket_id}",
        case=case,
        states=[(state, state.replace("_", " ").capitalize()) for state in reachable],
        colleagues=_assignable(colleagues),
    )


def _assignee_in(form: SentForm) -> dict[str, int | str | None]:
    """The assignee that the form names; an empty field leaves it."""
    named = form.value("assignee")
    if not named:
        return {}
    return {"assignee": None if named == support.NOBODY else whole_number(named)}


def _assignable(administrators: Sequence[people.Administrator]) -> list[tuple[str, str]]:
    """Nobody, and the administrators of the support, as options of a field."""
    known = [(str(one.id), apart(one.name)) for one in administrators if SUPPORT in one.areas]
    return [(support.NOBODY, "Nobody"), *known]
