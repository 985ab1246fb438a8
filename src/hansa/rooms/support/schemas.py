"""Shapes of tickets as their authors write and read them, and of reports about agents."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, Field

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.visible_text import plain_and_visible
from hansa.rooms import people

from .records import (
    ABUSE,
    AnyCategory,
    Category,
    Message,
    Move,
    MovedBy,
    NewTicket,
    Related,
    RelatedType,
    Status,
    Thread,
    Ticket,
    TicketFilter,
)
from .rules import BODY_MAX_BYTES, SUBJECT_MAX, SUBJECT_MIN, clean_body, clean_subject

TEXT_MAX = 200
PAGE_DEFAULT, PAGE_MAX = 50, 200
BIGINT_MAX = 2**63 - 1
CURSOR = "ticket-"


def _subject(text: str) -> str:
    stored = plain_and_visible(text)
    if not SUBJECT_MIN <= len(stored) <= SUBJECT_MAX:
        raise ValueError(f"must have {SUBJECT_MIN} to {SUBJECT_MAX} characters")
    return stored


def _body(text: str) -> str:
    stored = plain_and_visible(text)
    if len(stored.encode()) > BODY_MAX_BYTES:
        raise ValueError(f"must have at most {BODY_MAX_BYTES} bytes")
    return stored


Subject = Annotated[
    str,
    Field(min_length=SUBJECT_MIN, max_length=SUBJECT_MAX, description="One line, stored without secrets."),
    AfterValidator(_subject),
]
Body = Annotated[
    str,
    Field(
        min_length=1,
        max_length=BODY_MAX_BYTES,
        description="Plain text of at most 8,192 bytes, stored without secrets.",
    ),
    AfterValidator(_body),
]
Did = Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]


class RelatedIn(RequestBody):
    """Thing that a ticket is about, in which the author has a part."""

    type: RelatedType
    id: (
        Annotated[str, Field(min_length=1, max_length=64)]
        | Annotated[int, Field(strict=True, ge=1, le=BIGINT_MAX)]
    ) = Field(description="Number of a contract or dispute, id of a token, transaction or organization.")


class SupportTicketIn(RequestBody):
    """A ticket. The agent and the related thing are the author's own."""

    subject: Subject
    body: Body
    category: Category
    agent_did: Did | None = None
    related: RelatedIn | None = None

    def ticket_of(self, author_id: int) -> NewTicket:
        """The ticket that is stored."""
        return NewTicket(
            author_id=author_id,
            category=self.category,
            subject=clean_subject(self.subject),
            body=clean_body(self.body),
            agent_did=self.agent_did,
            related=Related(self.related.type, str(self.related.id)) if self.related else None,
        )


class SupportMessageIn(RequestBody):
    """A message in an own ticket."""

    body: Body

    @property
    def text(self) -> str:
        """The text that is stored."""
        return clean_body(self.body)


class AgentReportIn(RequestBody):
    """A report about an agent, by anybody. The support reads it; nothing is sent to the address."""

    agent_did: Did = Field(description="DID of an agent with a card here.")
    reason: Subject
    body: Body
    email: people.Email | None = Field(
        default=None, description="Address for the support; erased when the report closes."
    )

    def report(self) -> NewTicket:
        """The report that is stored."""
        return NewTicket(
            author_id=None,
            category=ABUSE,
            subject=clean_subject(self.reason),
            body=clean_body(self.body),
            agent_did=self.agent_did,
            reporter_email=self.email,
        )


class AgentReportedOut(LazyModel):
    """The report is stored."""

    accepted: bool = True


class SupportTicketsQuery(LazyModel):
    """Page of own tickets."""

    limit: int = Field(default=PAGE_DEFAULT, ge=1, le=PAGE_MAX)
    status: Status | None = None
    q: str | None = Field(
        default=None,
        min_length=1,
        max_length=TEXT_MAX,
        description="Text in the subject, in any case, or a number `T-<n>`.",
    )
    next: str | None = Field(
        default=None, pattern=rf"^{CURSOR}[0-9]{{1,18}}$", description="The cursor of the previous page."
    )

    def ticket_filter(self) -> TicketFilter:
        """The page that this query asks for, and one ticket more."""
        return TicketFilter(
            limit=self.limit + 1, before=before_of(self.next), status=self.status, text=self.q
        )


class RelatedOut(LazyModel):
    """Thing that a ticket is about."""

    type: RelatedType
    id: str


class SupportTicketRowOut(LazyModel):
    """A ticket in a list. `first_answered_at` is null until the support has answered."""

    id: UUID
    number: str = Field(description="`T-<n>`.")
    subject: str
    category: AnyCategory
    status: Status
    agent_did: str | None
    related: RelatedOut | None
    created_at: datetime
    updated_at: datetime
    first_answered_at: datetime | None
    resolved_at: datetime | None
    closed_at: datetime | None

    @classmethod
    def of(cls, ticket: Ticket) -> Self:
        """The ticket as a row."""
        return cls(**row_of(ticket))


class SupportTicketsOut(LazyModel):
    """A page of own tickets, newest first."""

    tickets: list[SupportTicketRowOut]
    next: str | None = Field(description="Send it as `next` for the following page; null on the last one.")

    @classmethod
    def of(cls, tickets: Sequence[Ticket], limit: int) -> Self:
        """The page of `limit` tickets; one more that was found shows that another page follows."""
        return cls(
            tickets=[SupportTicketRowOut.of(one) for one in tickets[:limit]], next=next_of(tickets, limit)
        )


class SupportMessageOut(LazyModel):
    """A message. `by`: `author` or `support`."""

    id: UUID
    by: MovedBy
    body: str
    created_at: datetime

    @classmethod
    def of(cls, message: Message) -> Self:
        """The message as its author reads it."""
        return cls(
            id=message.id,
            by="support" if message.author_id is None else "author",
            body=message.body,
            created_at=message.created_at,
        )


class SupportMoveOut(LazyModel):
    """State of a ticket since `at`. `by`: `author`, `support` or `registry`."""

    status: Status
    by: MovedBy
    at: datetime

    @classmethod
    def of(cls, move: Move) -> Self:
        """The state as it is read."""
        return cls(status=move.status, by=move.moved_by, at=move.moved_at)


class SupportTicketOut(SupportTicketRowOut):
    """A ticket with its messages and states, oldest first."""

    body: str
    messages: list[SupportMessageOut]
    history: list[SupportMoveOut]

    @classmethod
    def of_thread(cls, thread: Thread) -> Self:
        """The ticket as its author reads it."""
        return cls(
            **row_of(thread.ticket),
            body=thread.ticket.body,
            messages=[SupportMessageOut.of(one) for one in thread.messages],
            history=[SupportMoveOut.of(one) for one in thread.history],
        )


def row_of(ticket: Ticket) -> dict[str, object]:
    """The members of a ticket in a list."""
    related = ticket.related
    return {
        **{name: getattr(ticket, name) for name in SupportTicketRowOut.model_fields if name != "related"},
        "number": ticket.name,
        "related": RelatedOut(type=related.type, id=related.id) if related else None,
    }


def before_of(cursor: str | None) -> int | None:
    """The number that a page follows."""
    return int(cursor.removeprefix(CURSOR)) if cursor else None


def next_of(tickets: Sequence[Ticket], limit: int) -> str | None:
    """The cursor of the page after the first `limit` tickets; None where nothing follows."""
    return f"{CURSOR}{tickets[limit - 1].number}" if len(tickets) > limit else None
