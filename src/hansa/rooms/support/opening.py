"""Open a ticket; report an agent."""

from msgspec.structs import replace

from hansa.foundation.events import SupportTicketOpened
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import agents, catalogue, journal, people

from . import relating, store
from .errors import HourlyReached, OpenTicketsReached
from .moving import event_of
from .reading import thread_of
from .records import NewTicket, Thread
from .rules import HOURLY_MAX, OPEN_MAX


async def open_ticket(tx: Tx, developer: Developer, new: NewTicket) -> Thread:
    """Open a ticket of the developer, a suspended one too; the agent and the thing that it names are the developer's own.

    Raises: AgentUnknown, RelatedUnknown, OpenTicketsReached, HourlyReached.
    """
    assert new.author_id == developer.id
    await people.lock_developer(tx, developer.id)
    await require_room(tx, developer.id)
    wait = await store.opening_wait(tx, developer.id, HOURLY_MAX)
    if wait is not None:
        raise HourlyReached(retry_after=wait)
    if new.agent_did is not None:
        await agents.own_agent(tx, developer.id, new.agent_did)
    related = None if new.related is None else await relating.own(tx, developer.id, new.related)
    ticket = await store.insert(tx, replace(new, related=related), "author")
    await journal.append(tx, event_of(SupportTicketOpened, ticket, category=ticket.category))
    return await thread_of(tx, ticket)


async def require_room(tx: Tx, developer_id: int) -> None:
    """Require that a locked account may have one more open ticket. Raises: OpenTicketsReached."""
    if await store.count_open(tx, developer_id) >= OPEN_MAX:
        raise OpenTicketsReached


async def report_agent(tx: Tx, new: NewTicket) -> None:
    """Store a report about an agent with a card here; nobody is notified. Raises: CardUnknown."""
    assert new.agent_did is not None
    await catalogue.card_of_agent(tx, new.agent_did)
    await store.insert(tx, new, "author")
