"""Work of the administrators of the support on tickets. Each act is in the audit log; authors read no name of the support."""

from uuid import UUID

import msgspec

from hansa.foundation.events import SupportTicketAnswered
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import journal, people

from . import store
from .acting import require_reopening
from .errors import AssigneeUnknown, ReportUnanswerable, ThreadFull, TicketState, TicketUnknown
from .mails import notify_author
from .moving import event_of, move
from .reading import thread_of
from .records import Case, Changes, Status, Ticket, TicketFilter
from .rules import BY_SUPPORT, THREAD_MAX, is_live

AREA = "admin_support"


async def list_cases(tx: Tx, wanted: TicketFilter) -> tuple[list[Ticket], dict[int, str]]:
    """A page of all tickets and reports, the newest first, and the names of the people in them by their ids."""
    tickets = await store.page(tx, wanted)
    concerned = {one for ticket in tickets for one in (ticket.author_id, ticket.assignee_id)}
    return tickets, await people.names_of(tx, sorted(one for one in concerned if one is not None))


async def read_case(tx: Tx, ticket_id: UUID) -> Case:
    """One ticket with its notes. Raises: TicketUnknown."""
    ticket = await store.find(tx, ticket_id)
    if ticket is None:
        raise TicketUnknown
    return await _case_of(tx, ticket)


async def change_ticket(
    tx: Tx, seal: Seal, administrator: Developer, ticket_id: UUID, changes: Changes, *, base_url: str
) -> Case:
    """Change state, priority and assignee; the author has mail when the ticket is resolved or waits for an answer.

    Raises: TicketUnknown, AssigneeUnknown, TicketState, ReopenTooLate, ReportUnanswerable.
    """
    ticket = await _lock(tx, ticket_id)
    await record_admin_act(tx, administrator, act="ticket.change", subject=ticket.name)
    if isinstance(changes.assignee_id, int):
        await _require_assignee(tx, changes.assignee_id)
    if changes.status is not msgspec.UNSET and changes.status != ticket.status:
        await _require_reachable(tx, ticket, changes.status)
        ticket = await move(tx, ticket, changes.status, "support")
        if ticket.status in {"resolved", "waiting_for_user"}:
            await notify_author(tx, seal, ticket, base_url)
    return await _case_of(tx, await store.sort(tx, ticket, changes))


async def answer_ticket(
    tx: Tx, seal: Seal, administrator: Developer, ticket_id: UUID, body: str, *, base_url: str
) -> Case:
    """Write a message that the author reads, for whom the ticket waits from now on; the author has mail.

    Raises: TicketUnknown, ReportUnanswerable, TicketState, ThreadFull.
    """
    ticket = await _lock(tx, ticket_id)
    await record_admin_act(tx, administrator, act="ticket.answer", subject=ticket.name)
    if ticket.author_id is None:
        raise ReportUnanswerable
    if not is_live(ticket):
        raise TicketState(f"The ticket is {ticket.status}; it takes no messages.")
    if await store.count_messages(tx, ticket.id) >= THREAD_MAX:
        raise ThreadFull
    await store.write_message(tx, ticket.id, body, staff_id=administrator.id)
    ticket = await store.note_answer(tx, ticket.id)
    await journal.append(tx, event_of(SupportTicketAnswered, ticket))
    ticket = await move(tx, ticket, "waiting_for_user", "support")
    await notify_author(tx, seal, ticket, base_url)
    return await _case_of(tx, ticket)


async def write_note(tx: Tx, administrator: Developer, ticket_id: UUID, body: str) -> Case:
    """Write a note that the support alone reads, in any state. Raises: TicketUnknown, ThreadFull."""
    ticket = await _lock(tx, ticket_id)
    await record_admin_act(tx, administrator, act="ticket.note", subject=ticket.name)
    if await store.count_notes(tx, ticket.id) >= THREAD_MAX:
        raise ThreadFull
    await store.write_note(tx, ticket.id, administrator.id, body)
    return await _case_of(tx, ticket)


async def _lock(tx: Tx, ticket_id: UUID) -> Ticket:
    ticket = await store.find(tx, ticket_id, lock=True)
    if ticket is None:
        raise TicketUnknown
    return ticket


async def _require_reachable(tx: Tx, ticket: Ticket, status: Status) -> None:
    if status not in BY_SUPPORT[ticket.status]:
        raise TicketState(f"The ticket is {ticket.status}; the support cannot make it {status}.")
    if ticket.author_id is None and status == "waiting_for_user":
        raise ReportUnanswerable
    if status == "open" and not is_live(ticket):
        await require_reopening(tx, ticket)


async def _require_assignee(tx: Tx, assignee_id: int) -> None:
    known = await people.list_administrators(tx)
    if assignee_id not in {one.id for one in known if AREA in one.areas}:
        raise AssigneeUnknown


async def _case_of(tx: Tx, ticket: Ticket) -> Case:
    thread, notes = await read_together(
        tx, lambda tx: thread_of(tx, ticket), lambda tx: store.notes(tx, ticket.id)
    )
    staff = {*(one.staff_id for one in thread.messages), *(one.staff_id for one in notes)}
    concerned = {ticket.author_id, ticket.assignee_id, *staff}
    names = await people.names_of(tx, sorted(one for one in concerned if one is not None))
    return Case(thread, notes, names)
