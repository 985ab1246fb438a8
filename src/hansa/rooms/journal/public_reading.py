"""The log as anyone may read it: newest first, one event, one transaction. Members withheld from the public are absent.

The ring of the newest events, as the public sees them.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

import msgspec

from hansa.foundation.events import ledger_key
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together

from . import participants_store, reading_store, store
from .archive import boundary, require_transaction_stored
from .audience import PRIVATE_TYPES, seen_by
from .ledger_readings import LedgerReadings
from .participants import ParticipantFilter, placed_events
from .reading import BIGGEST, seal, unseal

# Rows of the log that are searched for each event of a page.
ROWS_SEARCHED = 10
# Events of a DID that are searched for those of a page, in two turns.
READ_FIRST, READ_AFTERWARDS = 200, 600


class PublicFilter(msgspec.Struct, frozen=True):
    """Filter of public events: of one type, of one DID, of both, or all but the types `left_out`; `cursor` is the `older` of the page before."""

    frame: str
    limit: int
    event_type: str | None = None
    did: str | None = None
    cursor: str | None = None
    left_out: tuple[str, ...] = ()


class PublicPage(msgspec.Struct, frozen=True):
    """Events, newest first. `older` leads to the events before them, None at the beginning of the log.

    `live_from` is a position before everything that may still be committed: a stream that starts there misses nothing and
    may repeat events of this page.
    """

    events: Sequence[StoredEvent]
    older: str | None
    live_from: str


async def list_public_events(tx: Tx, query: PublicFilter, ledger: LedgerReadings) -> PublicPage:
    """One page of the log; of a DID, `tx` must be one snapshot. Raises: CursorInvalid."""
    oldest_open, (events, older) = await read_together(
        tx,
        participants_store.oldest_open,
        lambda tx: _of_log(tx, query) if query.did is None else _of_did(tx, query, ledger),
    )
    return PublicPage(events, older, seal(oldest_open, 0))


async def newest_public_events(tx: Tx, limit: int, left_out: Sequence[str]) -> list[StoredEvent]:
    """The newest public events of other types than these, as far as a page of the log would search for them."""
    newest, rows = (BIGGEST, BIGGEST), ROWS_SEARCHED * limit
    return _seen(
        await reading_store.search_public_events(tx, newest, PRIVATE_TYPES, left_out, rows=rows, limit=limit)
    )


async def list_own_events(
    tx: Tx, query: PublicFilter, ledger: LedgerReadings
) -> tuple[list[StoredEvent], str | None]:
    """Events of a DID as its agent sees them, private ones as well, newest first, and the cursor of the older ones. Raises: CursorInvalid."""
    assert query.did is not None
    return await _of_did(tx, query, ledger, readers={query.did})


async def find_public_event(tx: Tx, sequence: int) -> StoredEvent | None:
    """The event with this sequence number; None where there is none that the public sees. Raises: EventsArchived."""
    event = await reading_store.event_at(tx, sequence)
    if event is None:
        end = await boundary(tx)
        if end is not None and sequence <= end.sequence:
            raise end.refusal()
    return event and seen_by(event, ())


async def public_event_of_id(tx: Tx, event_id: UUID) -> StoredEvent | None:
    """The event with this id; None where there is none that the public sees, or it was recorded before ids held the number."""
    event = await reading_store.event_of_id(tx, event_id)
    return event and seen_by(event, ())


async def public_events_of_transaction(tx: Tx, frame: str, tx_id: int) -> list[StoredEvent]:
    """Return the events that a ledger transaction recorded, its movement first; empty for a transaction that does not exist.

    Raises: EventsArchived.
    """
    events = await participants_store.of_transaction(tx, ledger_key(frame, tx_id))
    if not events:
        await require_transaction_stored(tx, tx_id)
    return _seen(events)


async def public_events_of_transactions(
    tx: Tx, frame: str, tx_ids: Sequence[int]
) -> dict[int, list[StoredEvent]]:
    """The same for several transactions, in one statement; one that does not exist is absent."""
    keys = [(tx_id, ledger_key(frame, tx_id)) for tx_id in tx_ids]
    found: dict[int, list[StoredEvent]] = {}
    for tx_id, event in await participants_store.of_transactions(tx, keys):
        if (shown := seen_by(event, ())) is not None:
            found.setdefault(tx_id, []).append(shown)
    return found


async def _of_log(tx: Tx, query: PublicFilter) -> tuple[list[StoredEvent], str | None]:
    """A page of types that are left out may be short, and goes on at `older`."""
    if query.event_type in PRIVATE_TYPES:
        return [], None
    xid, seq = unseal(query.cursor, 2) if query.cursor else (BIGGEST, BIGGEST)
    place = (xid, seq)
    if query.event_type is not None:
        events = await reading_store.events_before(
            tx, place, event_type=query.event_type, limit=query.limit, offset=0
        )
        return _seen(events), _older(events, query.limit)
    rows = ROWS_SEARCHED * query.limit if query.left_out else query.limit + 1
    events = await reading_store.search_public_events(
        tx, place, PRIVATE_TYPES, query.left_out, rows=rows, limit=query.limit
    )
    if len(events) == query.limit:
        return _seen(events), _older(events, query.limit)
    end = await reading_store.end_of_search(tx, place, PRIVATE_TYPES, rows)
    return _seen(events), end and seal(*end)


def _older(events: Sequence[StoredEvent], limit: int) -> str | None:
    return seal(events[-1].xid, events[-1].sequence) if len(events) == limit else None


async def _of_did(
    tx: Tx, query: PublicFilter, ledger: LedgerReadings, readers: Collection[str] = ()
) -> tuple[list[StoredEvent], str | None]:
    """The events of a DID have no index by type: a page may be short, and goes on at `older`."""
    assert query.did is not None
    found: list[StoredEvent] = []
    cursor = query.cursor
    for limit in (READ_FIRST, READ_AFTERWARDS):
        page = await placed_events(
            tx,
            ParticipantFilter(query.did, query.frame, limit=limit, sort_order="desc", cursor=cursor),
            ledger,
        )
        for placed in page.events:
            cursor = placed.position
            event = seen_by(placed.event, readers)
            if event is not None and _is_asked(query, event.event_type):
                found.append(event)
            if len(found) == query.limit:
                return found, cursor
        if page.is_last:
            return found, None
    return found, cursor


def _is_asked(query: PublicFilter, event_type: str) -> bool:
    return query.event_type in (None, event_type) and event_type not in query.left_out


def _seen(events: Sequence[StoredEvent]) -> list[StoredEvent]:
    return [shown for shown in (seen_by(event, ()) for event in events) if shown is not None]


async def recent_events(tx: Tx, *, limit: int, ring: int) -> tuple[list[StoredEvent], int]:
    """The newest `limit` events of a ring of `ring`, newest first, and how many the ring holds."""
    newest = await store.recent(tx, min(limit, ring), without=PRIVATE_TYPES)
    shown = [event for event in (seen_by(event, ()) for event in newest) if event is not None]
    return shown, await store.count_recent(tx, ring, without=PRIVATE_TYPES)
