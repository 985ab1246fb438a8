"""Acts of the author: write a message, close, reopen."""

from uuid import UUID

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import people

from . import store
from .errors import HourlyReached, ReopenTooLate, ThreadFull, TicketState, TicketUnknown
from .moving import move
from .opening import require_room
from .reading import thread_of
from .records import Thread, Ticket
from .rules import HOURLY_MAX, THREAD_MAX, is_live, may_reopen


async def write_message(tx: Tx, developer: Developer, ticket_id: UUID, body: str) -> Thread:
    """Add a message to an own ticket; one that waited for its author is open again.

    Raises: TicketUnknown, TicketState, HourlyReached, ThreadFull.
    """
    ticket = await _lock(tx, developer, ticket_id)
    if not is_live(ticket):
        raise TicketState(f"The ticket is {ticket.status}; it takes no messages.")
    wait = await store.writing_wait(tx, developer.id, HOURLY_MAX)
    if wait is not None:
        raise HourlyReached(retry_after=wait)
    if await store.count_messages(tx, ticket.id) >= THREAD_MAX:
        raise ThreadFull
    await store.write_message(tx, ticket.id, body, author_id=developer.id)
    return await thread_of(tx, await move(tx, ticket, "open", "author"))


async def close(tx: Tx, developer: Developer, ticket_id: UUID) -> Thread:
    """Close an own ticket. Raises: TicketUnknown, TicketState."""
    ticket = await _lock(tx, developer, ticket_id)
    if ticket.status == "closed":
        raise TicketState("The ticket is closed already.")
    return await thread_of(tx, await move(tx, ticket, "closed", "author"))


async def reopen(tx: Tx, developer: Developer, ticket_id: UUID) -> Thread:
    """Open an own ticket that is resolved, or that closed at most 14 days ago. Raises: TicketUnknown, TicketState, ReopenTooLate, OpenTicketsReached."""
    ticket = await _lock(tx, developer, ticket_id)
    await require_reopening(tx, ticket)
    await require_room(tx, developer.id)
    return await thread_of(tx, await move(tx, ticket, "open", "author"))


async def require_reopening(tx: Tx, ticket: Ticket) -> None:
    """Require that a locked ticket may be open again. Raises: TicketState, ReopenTooLate."""
    if is_live(ticket):
        raise TicketState("The ticket is open already.")
    if not may_reopen(ticket, await clock.now(tx)):
        raise ReopenTooLate


async def _lock(tx: Tx, developer: Developer, ticket_id: UUID) -> Ticket:
    # The account before the ticket: quotas are counted under its lock.
    await people.lock_developer(tx, developer.id)
    ticket = await store.find(tx, ticket_id, developer.id, lock=True)
    if ticket is None:
        raise TicketUnknown
    return ticket
