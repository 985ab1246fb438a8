"""Tickets as their authors read them."""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Developer

from . import store
from .errors import TicketUnknown
from .records import Thread, Ticket, TicketFilter


async def list_tickets(tx: Tx, developer: Developer, wanted: TicketFilter) -> list[Ticket]:
    """A page of own tickets, the newest first."""
    return await store.page(tx, wanted, developer.id)


async def read_ticket(tx: Tx, developer: Developer, ticket_id: UUID) -> Thread:
    """One own ticket. Raises: TicketUnknown."""
    ticket = await store.find(tx, ticket_id, developer.id)
    if ticket is None:
        raise TicketUnknown
    return await thread_of(tx, ticket)


async def thread_of(tx: Tx, ticket: Ticket) -> Thread:
    """The ticket with its messages and states."""
    messages, history = await read_together(
        tx, lambda tx: store.messages(tx, ticket.id), lambda tx: store.moves(tx, ticket.id)
    )
    return Thread(ticket, messages, history)
