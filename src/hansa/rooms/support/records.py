"""Records of tickets."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec

Category: TypeAlias = Literal["account", "payment", "dispute", "agent", "federation", "security", "other"]
AnyCategory: TypeAlias = Literal[
    "account", "payment", "dispute", "agent", "federation", "security", "other", "abuse"
]
Status: TypeAlias = Literal["open", "waiting_for_user", "resolved", "closed"]
Priority: TypeAlias = Literal["low", "normal", "high"]
RelatedType: TypeAlias = Literal["contract", "dispute", "token", "transaction", "organization"]
MovedBy: TypeAlias = Literal["author", "support", "registry"]

ABUSE: AnyCategory = "abuse"


class Related(msgspec.Struct, frozen=True):
    """Thing that a ticket is about, by its kind and id."""

    type: RelatedType
    id: str


class NewTicket(msgspec.Struct, frozen=True):
    """Ticket that is to be stored. Its texts are without secrets; `author_id` is None for a report, which may have an address."""

    author_id: int | None
    category: AnyCategory
    subject: str
    body: str
    agent_did: str | None = None
    related: Related | None = None
    reporter_email: str | None = None


class Ticket(msgspec.Struct, frozen=True):
    """Ticket of a developer, or a report, whose `author_id` is None. `number` is the number in `T-<n>`."""

    id: UUID
    number: int
    author_id: int | None
    category: AnyCategory
    subject: str
    body: str
    agent_did: str | None
    related: Related | None
    reporter_email: str | None
    status: Status
    priority: Priority
    assignee_id: int | None
    created_at: datetime
    updated_at: datetime
    first_answered_at: datetime | None
    resolved_at: datetime | None
    closed_at: datetime | None

    @property
    def name(self) -> str:
        """The number as it is shown."""
        return f"T-{self.number}"


class Message(msgspec.Struct, frozen=True):
    """Message that the author reads; `author_id` is None in one of the support."""

    id: UUID
    author_id: int | None
    staff_id: int | None
    body: str
    created_at: datetime


class Note(msgspec.Struct, frozen=True):
    """Note of the support; `staff_id` is None where that account was erased."""

    id: UUID
    staff_id: int | None
    body: str
    created_at: datetime


class Move(msgspec.Struct, frozen=True):
    """State of a ticket since a moment."""

    status: Status
    moved_by: MovedBy
    moved_at: datetime


class Thread(msgspec.Struct, frozen=True):
    """Ticket with its messages and states, oldest first."""

    ticket: Ticket
    messages: Sequence[Message]
    history: Sequence[Move]


class Case(msgspec.Struct, frozen=True):
    """Ticket as the support reads it: with notes, and the names of the people in it by their ids."""

    thread: Thread
    notes: Sequence[Note]
    names: dict[int, str]


class TicketFilter(msgspec.Struct, frozen=True):
    """Filter of a list, newest first; None in a member matches every ticket. `assignee_id` 0: tickets without one."""

    limit: int
    before: int | None = None
    status: Status | None = None
    category: AnyCategory | None = None
    assignee_id: int | None = None
    text: str | None = None


class Changes(msgspec.Struct, frozen=True):
    """Changes by the support; UNSET in a member leaves it. `assignee_id` None: nobody."""

    status: Status | msgspec.UnsetType = msgspec.UNSET
    priority: Priority | msgspec.UnsetType = msgspec.UNSET
    assignee_id: int | msgspec.UnsetType | None = msgspec.UNSET


class Waiting(msgspec.Struct, frozen=True):
    """Tickets, or reports about agents, that are open: they wait for the support. Without any the oldest has waited 0 seconds."""

    kind: Literal["ticket", "report"]
    number: int
    oldest_seconds: float
