"""Events in which a DID takes part, in order or in reverse order.

Two streams, each in an order of its own:
- the events filed under the DID, except by the ledger, in the order of the log;
- the transactions of its account in the order of its history, of each the LedgerBalanceChanged and the events recorded right
  behind it that name the DID.
They are merged by sequence number. Forward, filed events are shown up to the oldest open transaction, so that nothing can
come to stand behind a cursor.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together

from . import participants_store as store
from .archive import (
    boundary,
    last_place_dropped,
    require_filed_stored_behind,
    require_transaction_stored,
    stored_keys_of_account,
)
from .ledger_readings import LedgerReadings
from .reading import BIGGEST, EventsPage, SortOrder, seal, unseal

SKIPPED_AT_ONCE = 1000


class ParticipantFilter(msgspec.Struct, frozen=True):
    """Filter of the events of a DID; a cursor takes the place of the offset."""

    did: str
    frame: str
    limit: int
    offset: int = 0
    sort_order: SortOrder = "asc"
    cursor: str | None = None


class _Reached(msgspec.Struct, frozen=True):
    """How far each stream was read: the last event filed, and the last transaction with its last event shown."""

    filed_xid: int
    filed_seq: int
    position: int
    moved_seq: int

    @property
    def cursor(self) -> str:
        return seal(self.filed_xid, self.filed_seq, self.position, self.moved_seq)


_END = _Reached(BIGGEST, BIGGEST, BIGGEST, BIGGEST)


async def _beginning(tx: Tx, did: str, frame: str, ledger: LedgerReadings) -> _Reached:
    """The place before the first stored events of a DID, behind those that were dropped."""
    if await boundary(tx) is None:
        return _Reached(0, 0, 0, 0)
    filed = await last_place_dropped(tx, did)
    stored = await stored_keys_of_account(tx, ledger, (did, frame), 0, 1, newest_first=False)
    position = stored[0].position - 1 if stored else await _newest_transaction(tx, did, frame, ledger)
    return _Reached(filed[0], filed[1], position, 0)


async def _newest_transaction(tx: Tx, did: str, frame: str, ledger: LedgerReadings) -> int:
    """The newest transaction of an account, whether its events are stored or not; 0 without any."""
    keys = await ledger.keys_of_account(tx, did, frame, BIGGEST, 1, newest_first=True)
    return keys[0].position if keys else 0


async def events_by_participant(
    tx: Tx, event_filter: ParticipantFilter, ledger: LedgerReadings
) -> EventsPage:
    """One page. Raises: CursorInvalid."""
    if event_filter.cursor is not None:
        return await _next_page(tx, event_filter, ledger)
    to_skip, cursor = event_filter.offset, None
    while to_skip > 0:
        skipped = replace(event_filter, limit=min(to_skip, SKIPPED_AT_ONCE), offset=0, cursor=cursor)
        page = await _next_page(tx, skipped, ledger)
        to_skip -= len(page.events)
        cursor = page.position
        if page.next is None:
            break
    return await _next_page(tx, replace(event_filter, cursor=cursor), ledger)


class PlacedEvent(msgspec.Struct, frozen=True):
    """Event with the cursor of the events after it."""

    event: StoredEvent
    position: str


class PlacedPage(msgspec.Struct, frozen=True):
    """Events with a cursor each; `position` is the cursor of the events after the page, `is_last` when there are none now."""

    events: Sequence[PlacedEvent]
    position: str
    is_last: bool


async def placed_events(tx: Tx, event_filter: ParticipantFilter, ledger: LedgerReadings) -> PlacedPage:
    """One page in the order asked for, with a cursor for each event. Raises: CursorInvalid."""
    start, placed = await _read(tx, event_filter, ledger)
    events = [PlacedEvent(event, reached.cursor) for event, reached in placed]
    position = events[-1].position if events else start.cursor
    return PlacedPage(events, position, is_last=len(events) < event_filter.limit)


async def end_of_events(tx: Tx, did: str, frame: str, ledger: LedgerReadings) -> str:
    """Return the cursor of the events after every one that is visible now."""
    newest = ParticipantFilter(did, frame, limit=1, sort_order="desc")
    moved = await _moved(tx, newest, _END, ledger, newest_first=True)
    position, sequence = (
        (moved[0][0], moved[0][1].sequence)
        if moved
        else (await _newest_transaction(tx, did, frame, ledger), 0)
    )
    oldest_open = await store.oldest_open(tx)
    return _Reached(oldest_open, 0, position, sequence).cursor


async def require_events_stored(tx: Tx, event_filter: ParticipantFilter, ledger: LedgerReadings) -> None:
    """Raises: EventsArchived, when events of the DID behind the cursor were dropped; `tx` began after its page was read."""
    if event_filter.cursor is None or event_filter.sort_order == "desc":
        return
    reached = _Reached(*unseal(event_filter.cursor, 4))
    await require_filed_stored_behind(tx, event_filter.did, (reached.filed_xid, reached.filed_seq))
    following = await ledger.keys_of_account(
        tx, event_filter.did, event_filter.frame, reached.position, 1, newest_first=False
    )
    for key in following:
        await require_transaction_stored(tx, key.position)


async def count_by_participant(tx: Tx, did: str, frame: str, ledger: LedgerReadings) -> int:
    """Return how many events there are in all.

    The events of each transaction are known unless emission policies were changed; then they are counted one by one.
    """
    filed = await store.count_filed(tx, did)
    if await store.records_every_transfer(tx):
        counted = await ledger.count_of_account(tx, did)
        typed = counted.transactions - counted.untyped
        return filed + counted.transactions + typed + counted.with_fee_paid + counted.payments
    moved, position = 0, 0
    while keys := await ledger.keys_of_account(tx, did, frame, position, SKIPPED_AT_ONCE, newest_first=False):
        moved += await store.count_of_keys(tx, did, [one.key for one in keys])
        position = keys[-1].position
    return filed + moved


async def _next_page(tx: Tx, event_filter: ParticipantFilter, ledger: LedgerReadings) -> EventsPage:
    start, placed = await _read(tx, event_filter, ledger)
    position = (placed[-1][1] if placed else start).cursor
    events = [event for event, _ in placed]
    return EventsPage(events, position, position if len(events) == event_filter.limit else None)


async def _read(
    tx: Tx, event_filter: ParticipantFilter, ledger: LedgerReadings
) -> tuple[_Reached, list[tuple[StoredEvent, _Reached]]]:
    """Return the beginning of the page, and its events with how far both streams are read after each."""
    newest_first = event_filter.sort_order == "desc"
    if event_filter.cursor:
        start = _Reached(*unseal(event_filter.cursor, 4))
    else:
        start = _END if newest_first else await _beginning(tx, event_filter.did, event_filter.frame, ledger)
    filed, moved = await read_together(
        tx,
        lambda tx: store.filed_under(
            tx,
            event_filter.did,
            (start.filed_xid, start.filed_seq),
            event_filter.limit,
            newest_first=newest_first,
        ),
        lambda tx: _moved(tx, event_filter, start, ledger, newest_first=newest_first),
    )
    return start, _merged(filed, moved, start, event_filter.limit, newest_first=newest_first)


async def _moved(
    tx: Tx, event_filter: ParticipantFilter, start: _Reached, ledger: LedgerReadings, *, newest_first: bool
) -> list[tuple[int, StoredEvent]]:
    # The transaction that the cursor stands in may have events left.
    beside = min(start.position + 1, BIGGEST) if newest_first else start.position - 1
    keys = await stored_keys_of_account(
        tx,
        ledger,
        (event_filter.did, event_filter.frame),
        beside,
        event_filter.limit + 1,
        newest_first=newest_first,
    )
    return await store.of_keys(
        tx,
        event_filter.did,
        [(one.position, one.key) for one in keys],
        beyond_seq=start.moved_seq,
        limit=event_filter.limit,
        newest_first=newest_first,
    )


def _merged(
    filed: Sequence[StoredEvent],
    moved: Sequence[tuple[int, StoredEvent]],
    start: _Reached,
    limit: int,
    *,
    newest_first: bool,
) -> list[tuple[StoredEvent, _Reached]]:
    """The next events of both streams, each with how far they were read for it. Each stream keeps its order."""
    events: list[tuple[StoredEvent, _Reached]] = []
    reached = start
    filed_left, moved_left = list(reversed(filed)), list(reversed(moved))
    while len(events) < limit and (filed_left or moved_left):
        takes_filed = not moved_left or (
            bool(filed_left) and (filed_left[-1].sequence < moved_left[-1][1].sequence) != newest_first
        )
        if takes_filed:
            event = filed_left.pop()
            reached = replace(reached, filed_xid=event.xid, filed_seq=event.sequence)
        else:
            position, event = moved_left.pop()
            reached = replace(reached, position=position, moved_seq=event.sequence)
        events.append((event, reached))
    return events
