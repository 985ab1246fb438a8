"""What an operator sees of the pulls."""

from hansa.foundation.plumbing.database import Tx
from hansa.rooms import journal

from . import store
from .records import Cycle


async def pull_cycle(tx: Tx, interval_seconds: int) -> Cycle:
    """The pulls as they stand at this moment."""
    return await store.cycle(tx, interval_seconds)


async def pulled_events(
    tx: Tx, *, limit: int, offset: int, sort_order: journal.SortOrder, cursor: str | None
) -> tuple[journal.EventsPage, int]:
    """A page of the AgentCardPulled events, and how many there are. Raises: journal.CursorInvalid."""
    event_filter = journal.EventFilter(
        limit=limit, offset=offset, event_type="AgentCardPulled", sort_order=sort_order, cursor=cursor
    )
    return await journal.list_events(tx, event_filter)
