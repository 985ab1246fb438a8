"""The events in which a DID takes part, in order or against it.

Two streams, each in an order of its own:
- what is filed under the DID, except by the ledger, in the order of the log;
- the transactions of its account in the order of its history, of each the LedgerBalanceChanged and what was recorded right
  behind it and names the DID.
They are merged by sequence number. Forward, filed events are shown up to the oldest open transaction, so that nothing can
come to stand behind a cursor.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hansa.foundation.plumbing.database import Tx

from . import participants_store as store
from .cursor import seal, unseal
from .ledger_readings import LedgerReadings
from .reading import BIGGEST, EventsPage, SortOrder
from .store import StoredEvent

SKIPPED_AT_ONCE = 1000


@dataclass(frozen=True)
class ParticipantFilter:
    """Which events of a DID; a cursor takes the place of the offset."""

    did: str
    frame: str
    limit: int
    offset: int = 0
    sort_order: SortOrder = "asc"
    cursor: str | None = None


@dataclass(frozen=True)
class _Reached:
    """How far each stream was read: the last event filed, and the last transaction with its last event shown."""

    filed_xid: int
    filed_seq: int
    position: int
    moved_seq: int


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


async def count_by_participant(tx: Tx, did: str, frame: str, ledger: LedgerReadings) -> int:
    """How many events there are in all.

    What each transaction leaves is known unless emission policies were changed; then they are counted one by one.
    """
    filed = await store.count_filed(tx, did)
    if await store.records_every_transfer(tx):
        counted = await ledger.count_of_account(tx, did)
        typed = counted.transactions - counted.untyped
        return filed + counted.transactions + typed + counted.with_fee_paid
    moved, position = 0, 0
    while keys := await ledger.keys_of_account(tx, did, frame, position, SKIPPED_AT_ONCE, newest_first=False):
        moved += await store.count_of_keys(tx, did, [one.key for one in keys])
        position = keys[-1].position
    return filed + moved


async def _next_page(tx: Tx, event_filter: ParticipantFilter, ledger: LedgerReadings) -> EventsPage:
    newest_first = event_filter.sort_order == "desc"
    start = _Reached(
        *(unseal(event_filter.cursor, 4) if event_filter.cursor else [BIGGEST if newest_first else 0] * 4)
    )
    filed = await store.filed_under(
        tx,
        event_filter.did,
        (start.filed_xid, start.filed_seq),
        event_filter.limit,
        newest_first=newest_first,
    )
    moved = await _moved(tx, event_filter, start, ledger, newest_first=newest_first)
    events, reached = _merged(filed, moved, start, event_filter.limit, newest_first=newest_first)
    position = seal(reached.filed_xid, reached.filed_seq, reached.position, reached.moved_seq)
    return EventsPage(events, position, position if len(events) == event_filter.limit else None)


async def _moved(
    tx: Tx, event_filter: ParticipantFilter, start: _Reached, ledger: LedgerReadings, *, newest_first: bool
) -> list[tuple[int, StoredEvent]]:
    # The transaction that the cursor stands in may have events left.
    beside = min(start.position + 1, BIGGEST) if newest_first else start.position - 1
    keys = await ledger.keys_of_account(
        tx, event_filter.did, event_filter.frame, beside, event_filter.limit + 1, newest_first=newest_first
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
) -> tuple[list[StoredEvent], _Reached]:
    """The next events of both streams, and how far each was read for them. Each stream keeps its order."""
    events: list[StoredEvent] = []
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
        events.append(event)
    return events, reached
