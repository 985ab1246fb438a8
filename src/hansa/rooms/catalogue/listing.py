"""List cards: filtered, page by page; the newest first, or by change for those who follow.

Who follows changes also hears of cards that have left the public listings: for some days each has a tombstone, which
says whose card it is and how it stands, and nothing of what was in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hansa.foundation.plumbing.database import Tx

from . import cursor, rules, store
from .cursor import ChangesCursor, ListingCursor
from .errors import OwnerUnknown, UnlistedRefused
from .findings import Findings, older_than
from .records import Card, Tombstone
from .store import EVERY_CARD, READ_MAX, TEXTS_END, Conditions, listed_text

TOMBSTONE_DAYS = 30


@dataclass(frozen=True)
class Filters:
    """Which cards a reader wants. `owner` is the developer asking for own cards, or None."""

    own_currency: str
    active_only: bool = True
    search: str | None = None
    tags: tuple[str, ...] = ()
    has_tee: bool | None = None
    tee_type: str | None = None
    owned_only: bool = False
    owner: int | None = None
    include_federated: bool = False
    natives_only: bool = False
    bearing_encirclement: bool = False
    foreign_only: bool = False
    include_unlisted: bool = False
    may_see_unlisted: bool = False

    def shows(self, card: Card) -> bool:
        """Whether a reader with these filters may see the card; what may not be seen travels as a tombstone."""
        is_shown = card.status == "active" and (self.include_unlisted or not card.unlisted)
        return self.owned_only or (is_shown and (card.is_active or not self.active_only))


@dataclass(frozen=True)
class PageWanted:
    """How much of the listing, from where, and whether with the documents."""

    limit: int
    skip: int
    updated_since: datetime | None
    next: str | None
    with_data: bool


@dataclass(frozen=True)
class CardsPage:
    """A page and the way on; `next` is None where a listing ends. Only readings of changes have tombstones.

    Where `total_is_exact` does not hold there are more than `total` cards.
    """

    cards: list[Card]
    total: int
    total_is_exact: bool
    offset: int
    next: str | None
    follows_changes: bool = False
    tombstones: tuple[Tombstone, ...] = ()


async def list_cards(tx: Tx, filters: Filters, wanted: PageWanted, findings: Findings) -> CardsPage:
    """Read one page; `findings` spares the later pages of a listing of few cards the search.

    Raises: OwnerUnknown, UnlistedRefused, CursorInvalid.
    """
    conditions = conditions_of(filters)
    place = cursor.decode(wanted.next) if wanted.next else None
    if isinstance(place, ChangesCursor):
        page = await _follow_changes(tx, _with_tombstones(conditions, filters), place, wanted)
        return _apart(page, filters)
    if place is None and wanted.updated_since is not None:
        page = await _first_changes(tx, _with_tombstones(conditions, filters), wanted.updated_since, wanted)
        return _apart(page, filters)
    return await _newest_first(tx, conditions, place, wanted, findings)


def conditions_of(filters: Filters) -> Conditions:
    """The filters as conditions. Raises: OwnerUnknown, UnlistedRefused."""
    conditions = _visible(filters)
    if filters.active_only:
        conditions = conditions.having("is_active", by_class=True)
    if filters.natives_only or not filters.include_federated:
        conditions = conditions.having("source_registry IS NULL", by_class=True)
    if filters.search:
        conditions = conditions.having(
            listed_text("LIKE {0}"), rules.like_pattern(filters.search), counted_max=READ_MAX
        )
        if TEXTS_END in filters.search:
            # No card holds it, but it stands between the texts of every card.
            conditions = conditions.having("false")
    if filters.tags:
        conditions = conditions.having("tags @> {0}::text[]", filters.tags)
    if filters.has_tee is not None:
        has_tee = "tee_type IS NOT NULL" if filters.has_tee else "tee_type IS NULL"
        conditions = conditions.having(has_tee, by_class=True)
    if filters.tee_type:
        conditions = conditions.having("tee_type = {0}", filters.tee_type)
    if filters.bearing_encirclement:
        conditions = conditions.having("encircled", by_class=True)
    if filters.foreign_only:
        conditions = conditions.having("settlement_currency <> {0}", filters.own_currency, by_class=True)
    return conditions


def _visible(filters: Filters) -> Conditions:
    """An owner sees own cards whatever their listing and status; everybody else sees what may be shown."""
    if filters.include_unlisted and not filters.may_see_unlisted:
        raise UnlistedRefused
    if filters.owned_only:
        if filters.owner is None:
            raise OwnerUnknown(headers={"WWW-Authenticate": "Bearer"})
        return EVERY_CARD.having("developer_id = {0}", filters.owner)
    if filters.include_unlisted:
        return EVERY_CARD.having("status = 'active'")
    return EVERY_CARD.having("NOT unlisted AND status = 'active'", by_class=True)


def _with_tombstones(conditions: Conditions, filters: Filters) -> Conditions:
    """The cards, and those that were hidden of late. Words and tags do not narrow these: that would tell what is hidden."""
    if filters.owned_only:
        return conditions
    is_mirrored = filters.include_federated and not filters.natives_only
    hidden = ["status <> 'active'"]
    if not filters.include_unlisted:
        hidden.append("unlisted")
    if filters.active_only:
        hidden.append("NOT is_active")
    where = f"({' OR '.join(hidden)}) AND hidden_since > now() - interval '{TOMBSTONE_DAYS} days'"
    return conditions.or_also(where if is_mirrored else f"{where} AND source_registry IS NULL")


def _apart(page: CardsPage, filters: Filters) -> CardsPage:
    shown = [card for card in page.cards if filters.shows(card)]
    hidden = tuple(Tombstone.of(card) for card in page.cards if not filters.shows(card))
    return replace(page, cards=shown, tombstones=hidden, follows_changes=True)


async def _newest_first(
    tx: Tx, conditions: Conditions, place: ListingCursor | None, wanted: PageWanted, findings: Findings
) -> CardsPage:
    numbers = await _found(tx, conditions, place, findings)
    if place is not None:
        counted, offset = place.total, place.offset
    else:
        counted = len(numbers) if numbers is not None else await store.count_cards(tx, conditions)
        offset = wanted.skip
    if numbers is not None and conditions.are_all(len(numbers)):
        cards = await _of_few(tx, conditions, numbers, place, wanted)
    else:
        cards = await _of_many(tx, conditions, counted, place, wanted)
    told = offset + len(cards)
    goes_on = bool(cards) and (told < counted or not conditions.are_all(counted))
    way_on = cursor.encode(ListingCursor(cards[-1].card_id, counted, told)) if goes_on else None
    return _page_of(conditions, cards, counted, offset, way_on)


async def _found(
    tx: Tx, conditions: Conditions, place: ListingCursor | None, findings: Findings
) -> Sequence[int] | None:
    """The numbers of the cards, the newest first, where they must be searched; None where that is not worth it."""
    if conditions.by_class or (place is not None and not conditions.are_all(place.total)):
        return None
    numbers = findings.of(conditions) if place is not None else None
    if numbers is None:
        numbers = await store.find_cards(tx, conditions)
        if conditions.are_all(len(numbers)):
            findings.keep(conditions, numbers)
    return numbers


async def _of_few(
    tx: Tx, conditions: Conditions, numbers: Sequence[int], place: ListingCursor | None, wanted: PageWanted
) -> list[Card]:
    """A page of these cards, or of as many of them as are left where some no longer satisfy the conditions."""
    to_come = numbers[wanted.skip :] if place is None else older_than(numbers, place.below)
    cards: list[Card] = []
    while to_come and not cards:
        asked, to_come = to_come[: wanted.limit], to_come[wanted.limit :]
        cards = await store.list_among(tx, conditions, asked, with_data=wanted.with_data)
    return cards


async def _of_many(
    tx: Tx, conditions: Conditions, counted: int, place: ListingCursor | None, wanted: PageWanted
) -> list[Card]:
    below = conditions if place is None else conditions.having("c.id < {0}", place.below)
    skip = wanted.skip if place is None else 0
    if skip >= counted and conditions.are_all(counted):
        return []
    return await store.list_newest_first(tx, below, limit=wanted.limit, skip=skip, with_data=wanted.with_data)


async def _first_changes(tx: Tx, conditions: Conditions, since: datetime, wanted: PageWanted) -> CardsPage:
    """The first round shows all that is visible; what older open transactions still change comes again later."""
    conditions = conditions.having("updated_at >= {0}", since)
    total = await store.count_changes(tx, conditions)
    begun = ChangesCursor(0, await store.oldest_open_transaction(tx), total, wanted.skip)
    return await _round_page(tx, conditions, begun, wanted, skip=wanted.skip)


async def _follow_changes(
    tx: Tx, conditions: Conditions, place: ChangesCursor, wanted: PageWanted
) -> CardsPage:
    if place.is_begun:
        page = await _round_page(tx, conditions, place, wanted)
        if page.cards:
            return page
        place = ChangesCursor(place.resume, place.resume, 0, 0)
    stop = await store.oldest_open_transaction(tx)
    window = ChangesCursor(place.start, stop, 0, 0, stop)
    total = await store.count_changes(tx, store.in_round(conditions, window))
    return await _round_page(tx, conditions, ChangesCursor(place.start, stop, total, 0, stop), wanted)


async def _round_page(
    tx: Tx, conditions: Conditions, place: ChangesCursor, wanted: PageWanted, skip: int = 0
) -> CardsPage:
    cards = await store.list_by_change(
        tx, store.in_round(conditions, place), limit=wanted.limit, skip=skip, with_data=wanted.with_data
    )
    if cards:
        way_on = place.after(cards[-1].updated_at, cards[-1].card_id, len(cards))
    else:
        way_on = ChangesCursor(place.resume, place.resume, 0, 0)
    return _page_of(conditions, cards, place.total, place.offset, cursor.encode(way_on))


def _page_of(
    conditions: Conditions, cards: list[Card], counted: int, offset: int, way_on: str | None
) -> CardsPage:
    is_exact = conditions.are_all(counted)
    total = counted if is_exact else max(conditions.counted_max, offset + len(cards))
    return CardsPage(cards, total, is_exact, offset, way_on)
