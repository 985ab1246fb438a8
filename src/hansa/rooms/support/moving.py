"""Move a ticket to another state, with its event."""

from typing import Any, TypeVar

from hansa.foundation.events import SupportTicketAnswered, SupportTicketMoved, SupportTicketOpened
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal

from . import store
from .records import MovedBy, Status, Ticket

TicketEvent = TypeVar("TicketEvent", SupportTicketOpened, SupportTicketAnswered, SupportTicketMoved)


async def move(tx: Tx, ticket: Ticket, status: Status, moved_by: MovedBy) -> Ticket:
    """Lead a locked ticket to a state; one that has it stays as it is. A report has no event, because it has no party."""
    moved = await store.move(tx, ticket.id, status, moved_by)
    if moved is None:
        return ticket
    if moved.author_id is not None:
        await journal.append(tx, event_of(SupportTicketMoved, moved, status=moved.status, by=moved_by))
    return moved


def event_of(kind: type[TicketEvent], ticket: Ticket, **members: Any) -> TicketEvent:
    """An event of a ticket of a developer."""
    assert ticket.author_id is not None
    return kind(developer_id=ticket.author_id, ticket_id=str(ticket.id), number=ticket.name, **members)
