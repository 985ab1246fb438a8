"""Answers about tickets of the support."""

from datetime import datetime
from typing import Literal

from .record import Record

TicketStatus = Literal["open", "waiting_for_user", "resolved", "closed"]
TicketCategory = Literal["account", "payment", "dispute", "agent", "federation", "security", "other"]
RelatedType = Literal["contract", "dispute", "token", "transaction", "organization"]


class Related(Record, frozen=True):
    """Thing that a ticket is about."""

    type: str
    id: str


class TicketRow(Record, frozen=True):
    """A ticket in a list; `number` is `T-<n>`."""

    id: str
    number: str
    subject: str
    category: str
    status: str
    agent_did: str | None
    related: Related | None
    created_at: datetime
    updated_at: datetime
    first_answered_at: datetime | None
    resolved_at: datetime | None
    closed_at: datetime | None


class Tickets(Record, frozen=True):
    """A page of tickets, newest first; `next` leads to the page after it."""

    tickets: list[TicketRow]
    next: str | None


class TicketMessage(Record, frozen=True):
    """A message; `by` is `author` or `support`."""

    id: str
    by: str
    body: str
    created_at: datetime


class TicketMove(Record, frozen=True):
    """State of a ticket since `at`; `by` is `author`, `support` or `registry`."""

    status: str
    by: str
    at: datetime


class Ticket(TicketRow, frozen=True, kw_only=True):
    """A ticket with its messages and states, oldest first."""

    body: str
    messages: list[TicketMessage]
    history: list[TicketMove]


class ReportAccepted(Record, frozen=True):
    """A report about an agent was stored."""

    accepted: bool
