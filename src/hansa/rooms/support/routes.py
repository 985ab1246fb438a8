"""Tickets over HTTP, for their authors, suspended ones too; reports about agents, by anybody."""

from collections.abc import Awaitable, Callable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, Public, developer_holding
from hansa.foundation.plumbing.web.limits import Limit, limited
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.plumbing.web.sealed_answers import StoredAnswerUnreadable
from hansa.foundation.values.errors import Invalid, Refused, Unauthorized
from hansa.rooms import agents, catalogue, organizations

from .acting import close, reopen, write_message
from .errors import (
    HourlyReached,
    OpenTicketsReached,
    RelatedUnknown,
    ReopenTooLate,
    ThreadFull,
    TicketState,
    TicketUnknown,
)
from .opening import open_ticket, report_agent
from .reading import list_tickets, read_ticket
from .records import Thread
from .rules import ANSWERS_SEALED_FOR
from .schemas import (
    AgentReportedOut,
    AgentReportIn,
    SupportMessageIn,
    SupportTicketIn,
    SupportTicketOut,
    SupportTicketsOut,
    SupportTicketsQuery,
)

router = APIRouter(prefix="/support", tags=["support"], route_class=GuardedRoute)

REPORTS = Limit("support: reports", 5, 3600)
"""Reports about agents of one address."""

Reader = Annotated[Developer, developer_holding("support:read")]
SentByAuthor = Annotated[organizations.Repeating, organizations.sent_by(developer_holding("support:write"))]

_ACTING: tuple[type[Refused], ...] = (
    Unauthorized,
    TicketUnknown,
    TicketState,
    Invalid,
    StoredAnswerUnreadable,
)


@router.post(
    "/tickets",
    status_code=201,
    response_model=SupportTicketOut,
    responses=problems(
        Unauthorized,
        agents.AgentUnknown,
        RelatedUnknown,
        OpenTicketsReached,
        HourlyReached,
        Invalid,
        BodyInvalid,
        StoredAnswerUnreadable,
    ),
)
async def open_support_ticket(body: SupportTicketIn, sent: SentByAuthor, db: Db) -> Response:
    """Open a ticket. A suspended developer may, to appeal. Secrets in the texts are not stored."""
    new = body.ticket_of(sent.developer.id)
    return await _sent(sent, db, lambda tx: open_ticket(tx, sent.developer, new), body, status=201)


@router.get("/tickets", responses=problems(Unauthorized, Invalid))
async def list_support_tickets(
    reader: Reader, db: Db, query: Annotated[SupportTicketsQuery, Query()]
) -> SupportTicketsOut:
    """Own tickets, newest first."""
    found = await db.read(lambda tx: list_tickets(tx, reader, query.ticket_filter()))
    return SupportTicketsOut.of(found, query.limit)


@router.get("/tickets/{ticket_id}", responses=problems(Unauthorized, TicketUnknown, Invalid))
async def read_support_ticket(ticket_id: UUID, reader: Reader, db: Db) -> SupportTicketOut:
    """One own ticket with its messages and states."""
    return SupportTicketOut.of_thread(await db.read(lambda tx: read_ticket(tx, reader, ticket_id)))


@router.post(
    "/tickets/{ticket_id}/messages",
    status_code=201,
    response_model=SupportTicketOut,
    responses=problems(*_ACTING, HourlyReached, ThreadFull, BodyInvalid),
)
async def write_support_message(
    ticket_id: UUID, body: SupportMessageIn, sent: SentByAuthor, db: Db
) -> Response:
    """Write a message in an open ticket."""
    return await _sent(
        sent, db, lambda tx: write_message(tx, sent.developer, ticket_id, body.text), body, status=201
    )


@router.post("/tickets/{ticket_id}/close", response_model=SupportTicketOut, responses=problems(*_ACTING))
async def close_support_ticket(ticket_id: UUID, sent: SentByAuthor, db: Db) -> Response:
    """Close an own ticket."""
    return await _sent(sent, db, lambda tx: close(tx, sent.developer, ticket_id))


@router.post(
    "/tickets/{ticket_id}/reopen",
    response_model=SupportTicketOut,
    responses=problems(*_ACTING, ReopenTooLate, OpenTicketsReached),
)
async def reopen_support_ticket(ticket_id: UUID, sent: SentByAuthor, db: Db) -> Response:
    """Open an own ticket again that is resolved, or that closed at most 14 days ago."""
    return await _sent(sent, db, lambda tx: reopen(tx, sent.developer, ticket_id))


@router.post(
    "/reports",
    status_code=202,
    dependencies=[Depends(limited(REPORTS))],
    responses=problems(catalogue.CardUnknown, Invalid, BodyInvalid),
)
async def report_an_agent(_: Public, body: AgentReportIn, db: Db) -> AgentReportedOut:
    """Report an agent to the support of this registry, at most 5 times an hour from one address. No answer is sent."""
    report = body.report()
    await db.transaction(lambda tx: report_agent(tx, report))
    return AgentReportedOut()


async def _sent(
    sent: organizations.Repeating,
    db: Db,
    act: Callable[[Tx], Awaitable[Thread]],
    body: SupportTicketIn | SupportMessageIn | None = None,
    *,
    status: int = 200,
) -> Response:
    async def done(tx: Tx) -> SupportTicketOut:
        return SupportTicketOut.of_thread(await act(tx))

    return await sent.answer(db, done, body, status=status, sealed_for=ANSWERS_SEALED_FOR)
