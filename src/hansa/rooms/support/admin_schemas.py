"""Shapes of tickets as the support works on them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

import msgspec
from pydantic import Field, StrictBool

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody

from .records import AnyCategory, Case, Changes, Message, Note, Priority, Status, Ticket, TicketFilter
from .rules import clean_body
from .schemas import (
    BIGINT_MAX,
    CURSOR,
    PAGE_DEFAULT,
    PAGE_MAX,
    TEXT_MAX,
    Body,
    SupportMessageOut,
    SupportMoveOut,
    SupportTicketRowOut,
    before_of,
    next_of,
    row_of,
)

NOBODY = "none"


class SupportCasesQuery(LazyModel):
    """Page of all tickets and reports."""

    limit: int = Field(default=PAGE_DEFAULT, ge=1, le=PAGE_MAX)
    status: Status | None = None
    category: AnyCategory | None = None
    assignee: str | None = Field(
        default=None,
        pattern=rf"^({NOBODY}|[1-9][0-9]{{0,17}})$",
        description="Number of an administrator, or `none`.",
    )
    q: str | None = Field(
        default=None,
        min_length=1,
        max_length=TEXT_MAX,
        description="Text in the subject, in any case, or in the DID, or a number `T-<n>`.",
    )
    next: str | None = Field(
        default=None, pattern=rf"^{CURSOR}[0-9]{{1,18}}$", description="The cursor of the previous page."
    )

    def ticket_filter(self) -> TicketFilter:
        """The page that this query asks for, and one ticket more."""
        assignee_id = None
        if self.assignee is not None:
            assignee_id = 0 if self.assignee == NOBODY else int(self.assignee)
        return TicketFilter(
            limit=self.limit + 1,
            before=before_of(self.next),
            status=self.status,
            category=self.category,
            assignee_id=assignee_id,
            text=self.q,
        )


class SupportTicketChangesIn(RequestBody):
    """Changes of a ticket; a member that is absent stays as it is."""

    status: Status | None = Field(default=None, description="Null: as it is.")
    assignee: Annotated[int, Field(strict=True, ge=1, le=BIGINT_MAX)] | None = Field(
        default=None, description="Number of an administrator of the support; null: nobody."
    )
    priority: Priority | None = Field(default=None, description="Null: as it is.")

    def changes(self) -> Changes:
        """The changes that this request asks for."""
        return Changes(
            status=self.status or msgspec.UNSET,
            priority=self.priority or msgspec.UNSET,
            assignee_id=self.assignee if "assignee" in self.model_fields_set else msgspec.UNSET,
        )


class SupportAnswerIn(RequestBody):
    """An answer, which the author reads, or an internal note."""

    body: Body
    internal: StrictBool = Field(default=False, description="A note that the support alone reads.")

    @property
    def text(self) -> str:
        """The text that is stored."""
        return clean_body(self.body)


class SupportPersonOut(LazyModel):
    """A person in a ticket; `name` is null once the account is deleted."""

    developer_id: int
    name: str | None


class SupportCaseRowOut(SupportTicketRowOut):
    """A ticket or report in the list of the support. `author` is null in a report."""

    author: SupportPersonOut | None
    priority: Priority
    assignee: SupportPersonOut | None

    @classmethod
    def of_case(cls, ticket: Ticket, names: Mapping[int, str]) -> Self:
        """The ticket as a row, with the people in it."""
        return cls(**_case_row_of(ticket, names))


class SupportCasesOut(LazyModel):
    """A page of tickets and reports, newest first."""

    tickets: list[SupportCaseRowOut]
    next: str | None = Field(description="Send it as `next` for the following page; null on the last one.")

    @classmethod
    def of(cls, tickets: Sequence[Ticket], names: Mapping[int, str], limit: int) -> Self:
        """The page of `limit` tickets; one more that was found shows that another page follows."""
        return cls(
            tickets=[SupportCaseRowOut.of_case(one, names) for one in tickets[:limit]],
            next=next_of(tickets, limit),
        )


class SupportCaseMessageOut(SupportMessageOut):
    """A message, with its writer in the support, whom the author does not read."""

    staff: SupportPersonOut | None

    @classmethod
    def of_case(cls, message: Message, names: Mapping[int, str]) -> Self:
        """The message as the support reads it."""
        read = SupportMessageOut.of(message)
        return cls(**read.model_dump(), staff=_person(message.staff_id, names))


class SupportNoteOut(LazyModel):
    """An internal note; `staff` is null once that account is erased."""

    id: UUID
    staff: SupportPersonOut | None
    body: str
    created_at: datetime

    @classmethod
    def of(cls, note: Note, names: Mapping[int, str]) -> Self:
        """The note as it is read."""
        return cls(
            id=note.id, staff=_person(note.staff_id, names), body=note.body, created_at=note.created_at
        )


class SupportCaseOut(SupportCaseRowOut):
    """A ticket or report with its messages, states and internal notes, oldest first."""

    body: str
    reporter_email: str | None = Field(description="Address in a report that has not closed.")
    messages: list[SupportCaseMessageOut]
    history: list[SupportMoveOut]
    notes: list[SupportNoteOut]

    @classmethod
    def of_whole(cls, case: Case) -> Self:
        """The ticket as the support reads it."""
        ticket, names = case.thread.ticket, case.names
        return cls(
            **_case_row_of(ticket, names),
            body=ticket.body,
            reporter_email=ticket.reporter_email,
            messages=[SupportCaseMessageOut.of_case(one, names) for one in case.thread.messages],
            history=[SupportMoveOut.of(one) for one in case.thread.history],
            notes=[SupportNoteOut.of(one, names) for one in case.notes],
        )


def _case_row_of(ticket: Ticket, names: Mapping[int, str]) -> dict[str, object]:
    return {
        **row_of(ticket),
        "author": _person(ticket.author_id, names),
        "priority": ticket.priority,
        "assignee": _person(ticket.assignee_id, names),
    }


def _person(developer_id: int | None, names: Mapping[int, str]) -> SupportPersonOut | None:
    if developer_id is None:
        return None
    return SupportPersonOut(developer_id=developer_id, name=names.get(developer_id))
