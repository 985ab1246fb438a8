"""Tickets over HTTP, for administrators of the support."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.plumbing.web.sealed_answers import StoredAnswerUnreadable
from hansa.foundation.values.errors import Invalid, Unauthorized
from hansa.rooms import organizations

from .admin_schemas import (
    SupportAnswerIn,
    SupportCaseOut,
    SupportCasesOut,
    SupportCasesQuery,
    SupportTicketChangesIn,
)
from .administering import AREA, answer_ticket, change_ticket, list_cases, read_case, write_note
from .errors import (
    AssigneeUnknown,
    ReopenTooLate,
    ReportUnanswerable,
    ThreadFull,
    TicketState,
    TicketUnknown,
)
from .rules import ANSWERS_SEALED_FOR

admin_router = APIRouter(prefix="/admin/support/tickets", tags=["administrators"], route_class=GuardedRoute)

Supporter = Annotated[Developer, admin_holding(AREA)]
SentBySupport = Annotated[organizations.Repeating, organizations.sent_by(admin_holding(AREA))]


@admin_router.get("", responses=problems(Unauthorized, Invalid))
async def list_all_tickets(
    _: Supporter, db: Db, query: Annotated[SupportCasesQuery, Query()]
) -> SupportCasesOut:
    """Tickets of every developer, and reports about agents, newest first."""
    tickets, names = await db.read(lambda tx: list_cases(tx, query.ticket_filter()))
    return SupportCasesOut.of(tickets, names, query.limit)


@admin_router.get("/{ticket_id}", responses=problems(Unauthorized, TicketUnknown, Invalid))
async def read_any_ticket(ticket_id: UUID, _: Supporter, db: Db) -> SupportCaseOut:
    """One ticket or report, with its internal notes."""
    return SupportCaseOut.of_whole(await db.read(lambda tx: read_case(tx, ticket_id)))


@admin_router.put(
    "/{ticket_id}",
    response_model=SupportCaseOut,
    responses=problems(
        Unauthorized,
        TicketUnknown,
        AssigneeUnknown,
        TicketState,
        ReopenTooLate,
        ReportUnanswerable,
        Invalid,
        BodyInvalid,
        StoredAnswerUnreadable,
    ),
)
async def change_any_ticket(
    ticket_id: UUID,
    body: SupportTicketChangesIn,
    sent: SentBySupport,
    db: Db,
    seal: Sealing,
    *,
    config: Config,
) -> Response:
    """Change state, assignee and priority of a ticket."""
    changes = body.changes()

    async def changed(tx: Tx) -> SupportCaseOut:
        return SupportCaseOut.of_whole(
            await change_ticket(tx, seal, sent.developer, ticket_id, changes, base_url=config.base_url)
        )

    return await sent.answer(db, changed, body, sealed_for=ANSWERS_SEALED_FOR)


@admin_router.post(
    "/{ticket_id}/messages",
    status_code=201,
    response_model=SupportCaseOut,
    responses=problems(
        Unauthorized,
        TicketUnknown,
        TicketState,
        ReportUnanswerable,
        ThreadFull,
        Invalid,
        BodyInvalid,
        StoredAnswerUnreadable,
    ),
)
async def answer_any_ticket(
    ticket_id: UUID,
    body: SupportAnswerIn,
    sent: SentBySupport,
    db: Db,
    seal: Sealing,
    *,
    config: Config,
) -> Response:
    """Answer a ticket, without the name of the administrator; or write an internal note."""

    async def written(tx: Tx) -> SupportCaseOut:
        if body.internal:
            case = await write_note(tx, sent.developer, ticket_id, body.text)
        else:
            case = await answer_ticket(
                tx, seal, sent.developer, ticket_id, body.text, base_url=config.base_url
            )
        return SupportCaseOut.of_whole(case)

    return await sent.answer(db, written, body, status=201, sealed_for=ANSWERS_SEALED_FOR)
