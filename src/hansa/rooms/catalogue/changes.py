"""Read the changes of cards, the oldest change first, and with them the cards that left the listing.

- `limit` and the total count cards. Tombstones come in addition: a page carries those of the changes up to its last
  card, and the last page those after it. A tombstone says whose card it is and its status, nothing of its text.
- `next` is None when everything is read; `resume` continues from where the reading stands, at once or later.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx

from . import cursor, listing_store, store
from .card_conditions import READ_MAX, Conditions, in_round, up_to
from .cursor import ChangesCursor
from .pages import CardsOfPage, CardsPage, PageRequest, page_of, within_bytes
from .records import Card, ListedCard, Tombstone

TOMBSTONE_DAYS = 30
TOMBSTONES_MAX = 5000
"""On one page; a page with more of them ends early."""


class Followed:
    """The cards that a reader follows, and those that left the listing, if the reader asked for them."""

    def __init__(self, shown: Conditions, hidden: Conditions | None) -> None:
        self.shown = replace(shown, by_class=False, counted_max=min(shown.counted_max, READ_MAX))
        self.hidden = hidden and hidden.having(f"hidden_since > now() - interval '{TOMBSTONE_DAYS} days'")

    def since(self, timestamp: datetime) -> "Followed":
        """Narrow the conditions to the cards changed at or after the timestamp."""
        changed = "updated_at >= {0}"
        return Followed(
            self.shown.having(changed, timestamp, counted_max=READ_MAX),
            self.hidden and self.hidden.having(changed, timestamp),
        )


class _Slice(msgspec.Struct, frozen=True):
    """The cards of a page, and whether the round holds more cards after them."""

    chosen: CardsOfPage
    is_last: bool

    @property
    def cards(self) -> Sequence[ListedCard]:
        return self.chosen.listed


async def list_changes(
    tx: Tx, followed: Followed, place: ChangesCursor | None, page_request: PageRequest
) -> CardsPage:
    """Read one page from `place` on, or from the start of the changes since a moment."""
    if place is not None:
        return await _next_page(tx, followed, place, page_request)
    assert page_request.updated_since is not None
    followed = followed.since(page_request.updated_since)
    total = await listing_store.count_changes(tx, followed.shown)
    # The first round has no end: what older open transactions still change is read again in the next one.
    begun = ChangesCursor(0, await store.oldest_open_transaction(tx), total, page_request.skip)
    return await _page(tx, followed, begun, page_request, skip=page_request.skip)


async def _next_page(
    tx: Tx, followed: Followed, place: ChangesCursor, page_request: PageRequest
) -> CardsPage:
    if place.is_begun:
        page = await _page(tx, followed, place, page_request)
        if page.chosen.listed or page.tombstones:
            return page
        place = _after_round(place)
    stop = await store.oldest_open_transaction(tx)
    window = ChangesCursor(place.start, stop, 0, 0, stop)
    total = await listing_store.count_changes(tx, in_round(followed.shown, window))
    return await _page(tx, followed, replace(window, total=total), page_request)


async def _page(
    tx: Tx, followed: Followed, place: ChangesCursor, page_request: PageRequest, skip: int = 0
) -> CardsPage:
    part = await _cards(tx, followed, place, page_request, skip)
    stones = await _tombstones(tx, followed, place, part)
    is_cut = len(stones) > TOMBSTONES_MAX
    if is_cut:
        stones = stones[:TOMBSTONES_MAX]
        before = [card for card in part.cards if _position(card) < _position(stones[-1])]
        part = _Slice(CardsOfPage(before, is_cut=True), is_last=False)
    if part.is_last:
        next_cursor, resume = None, _after_round(place)
    else:
        last = stones[-1] if is_cut else part.cards[-1]
        next_cursor = resume = place.after(last.updated_at, last.card_id, len(part.cards))
    page = page_of(
        followed.shown,
        part.chosen,
        place.total,
        place.offset,
        cursor.encode(next_cursor) if next_cursor else None,
    )
    return replace(
        page,
        follows_changes=True,
        tombstones=tuple(Tombstone.of(card) for card in stones),
        resume=cursor.encode(resume),
    )


async def _cards(
    tx: Tx, followed: Followed, place: ChangesCursor, page_request: PageRequest, skip: int
) -> _Slice:
    conditions = in_round(followed.shown, place)
    listed = await listing_store.list_by_change(tx, conditions, limit=page_request.limit, skip=skip)
    chosen = within_bytes(listed, with_data=page_request.with_data)
    if len(listed) < page_request.limit and not chosen.is_cut:
        return _Slice(chosen, is_last=True)
    last = chosen.listed[-1]
    after = in_round(followed.shown, place.after(last.updated_at, last.card_id, len(chosen.listed)))
    return _Slice(chosen, is_last=not await listing_store.list_by_change(tx, after, limit=1, skip=0))


async def _tombstones(tx: Tx, followed: Followed, place: ChangesCursor, part: _Slice) -> list[Card]:
    """The hidden cards up to the last card of the page, or to the end of the round; one more than fit on a page."""
    if followed.hidden is None:
        return []
    conditions = in_round(followed.hidden, place)
    if not part.is_last:
        conditions = up_to(conditions, part.cards[-1])
    return await listing_store.cards_by_change(tx, conditions, TOMBSTONES_MAX + 1)


def _after_round(place: ChangesCursor) -> ChangesCursor:
    return ChangesCursor(place.resume, place.resume, 0, 0)


def _position(card: Card | ListedCard) -> tuple[datetime, int]:
    return card.updated_at, card.card_id
