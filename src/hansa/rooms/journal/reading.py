"""Reading the log in its order: by transaction, then by sequence number.

Going forward shows the events before the oldest open transaction, so that no event can be added behind a cursor.
Going backward shows all committed events.

Opaque cursors: a few whole numbers, encoded so that clients do not depend on their form.
"""

import base64
import binascii
import struct
from collections.abc import Sequence
from typing import Literal

import msgspec

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx

from . import reading_store
from .archive import require_stored_behind
from .counting import count_events
from .errors import CursorInvalid

SortOrder = Literal["asc", "desc"]
BIGGEST = 2**63 - 1


class EventsPage(msgspec.Struct, frozen=True):
    """Events in the order asked for; `position` is where the page ends, `next` the same while more may follow."""

    events: Sequence[StoredEvent]
    position: str
    next: str | None


class EventFilter(msgspec.Struct, frozen=True):
    """Filter of the events of the log; a cursor takes the place of the offset."""

    limit: int
    offset: int = 0
    event_type: str | None = None
    sort_order: SortOrder = "asc"
    cursor: str | None = None


async def list_events(tx: Tx, event_filter: EventFilter) -> tuple[EventsPage, int]:
    """One page of the log, and how many events there are of that type. Raises: CursorInvalid."""
    forward = event_filter.sort_order == "asc"
    start = [0, 0] if forward else [BIGGEST, BIGGEST]
    xid, seq = unseal(event_filter.cursor, 2) if event_filter.cursor else start
    read = reading_store.events_after if forward else reading_store.events_before
    events = await read(
        tx,
        (xid, seq),
        event_type=event_filter.event_type,
        limit=event_filter.limit,
        offset=event_filter.offset,
    )
    position = seal(events[-1].xid, events[-1].sequence) if events else seal(xid, seq)
    page = EventsPage(events, position, position if len(events) == event_filter.limit else None)
    return page, await count_events(tx, event_filter.event_type)


async def require_stored(tx: Tx, cursor: str | None) -> None:
    """Raises: EventsArchived, when events behind the cursor of a page were dropped; `tx` began after the page was read."""
    if cursor:
        xid, seq = unseal(cursor, 2)
        await require_stored_behind(tx, (xid, seq))


def seal(*numbers: int) -> str:
    """The cursor that holds these numbers."""
    return base64.urlsafe_b64encode(struct.pack(f">{len(numbers)}q", *numbers)).decode().rstrip("=")


def unseal(cursor: str, count: int) -> list[int]:
    """The `count` numbers of a cursor. Raises: CursorInvalid."""
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        numbers = list(struct.unpack(f">{count}q", packed))
    except (binascii.Error, ValueError, struct.error):
        raise CursorInvalid(field="next") from None
    if min(numbers) < 0:
        raise CursorInvalid(field="next")
    return numbers
