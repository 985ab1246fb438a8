"""List cards: filtered, page by page; the newest first, or by change (`changes`)."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx

from . import cursor, listing_store, rules
from .card_conditions import EVERY_CARD, READ_MAX, TEXTS_END, Conditions, listed_text
from .card_rights import owned_by
from .changes import Followed, list_changes
from .cursor import ChangesCursor, ListingCursor
from .errors import OwnerUnknown, UnlistedRefused
from .findings import CardFindings, older_than
from .pages import CardsOfPage, CardsPage, PageRequest, batches_of, page_of, within_bytes
from .records import Card, ListedCard


class Filters(msgspec.Struct, frozen=True):
    """Filters of a listing. `owner` is the developer asking for own cards, or None."""

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


async def list_cards(
    tx: Tx, filters: Filters, page_request: PageRequest, findings: CardFindings
) -> CardsPage:
    """Choose the cards of one page and read the first of them; `findings` spares the later pages of a listing of few cards the search.

    Raises: OwnerUnknown, UnlistedRefused, CursorInvalid.
    """
    conditions = conditions_of(filters)
    place = cursor.decode(page_request.next) if page_request.next else None
    if isinstance(place, ChangesCursor) or (place is None and page_request.updated_since is not None):
        page = await list_changes(tx, Followed(conditions, _hidden(filters)), place, page_request)
    else:
        page = await _newest_first(tx, conditions, place, page_request, findings)
    batches = tuple(batches_of(page.chosen.listed, with_data=page_request.with_data))
    if not batches:
        return page
    cards = await read_cards(tx, page, batches[0], with_data=page_request.with_data)
    return replace(page, cards=cards, later=batches[1:])


async def read_cards(tx: Tx, page: CardsPage, numbers: Sequence[int], *, with_data: bool) -> list[Card]:
    """Read a later batch of a page, without the cards that may no longer be shown."""
    return await listing_store.read_listed(tx, page.conditions, numbers, with_data=with_data)


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
    """Return the cards visible to the reader: an owner's own cards of any listing and status; for others, those that may be shown."""
    if filters.include_unlisted and not filters.may_see_unlisted:
        raise UnlistedRefused
    if filters.owned_only:
        if filters.owner is None:
            raise OwnerUnknown
        return EVERY_CARD.having(owned_by("{0}"), filters.owner)
    if filters.include_unlisted:
        return EVERY_CARD.having("status = 'active'")
    return EVERY_CARD.having("NOT unlisted AND status = 'active'", by_class=True)


def _hidden(filters: Filters) -> Conditions | None:
    """Return the cards that left the listing; None where an owner reads own cards, of which none is hidden.

    Words and tags do not narrow these: that would reveal the text of a hidden card.
    """
    if filters.owned_only:
        return None
    reasons = ["status <> 'active'"]
    if not filters.include_unlisted:
        reasons.append("unlisted")
    if filters.active_only:
        reasons.append("NOT is_active")
    hidden = EVERY_CARD.having(" OR ".join(reasons).join("()"))
    if filters.include_federated and not filters.natives_only:
        return hidden
    return hidden.having("source_registry IS NULL")


async def _newest_first(
    tx: Tx,
    conditions: Conditions,
    place: ListingCursor | None,
    page_request: PageRequest,
    findings: CardFindings,
) -> CardsPage:
    numbers = await _found(tx, conditions, place, findings)
    if place is not None:
        counted, offset = place.total, place.offset
    else:
        counted = len(numbers) if numbers is not None else await listing_store.count_cards(tx, conditions)
        offset = page_request.skip
    if numbers is not None and conditions.are_all(len(numbers)):
        chosen = await _of_few(tx, conditions, numbers, place, page_request)
    else:
        chosen = await _of_many(tx, conditions, counted, place, page_request)
    returned = offset + len(chosen.listed)
    goes_on = bool(chosen.listed) and (returned < counted or not conditions.are_all(counted))
    next_cursor = (
        cursor.encode(ListingCursor(chosen.listed[-1].card_id, counted, returned)) if goes_on else None
    )
    return page_of(conditions, chosen, counted, offset, next_cursor)


async def _found(
    tx: Tx, conditions: Conditions, place: ListingCursor | None, findings: CardFindings
) -> Sequence[int] | None:
    """The numbers of the cards, the newest first, where they must be searched; None where that is not worth it."""
    if conditions.by_class or (place is not None and not conditions.are_all(place.total)):
        return None
    numbers = findings.of(conditions) if place is not None else None
    if numbers is None:
        numbers = await listing_store.find_cards(tx, conditions)
        if conditions.are_all(len(numbers)):
            findings.keep(conditions, numbers)
    return numbers


async def _of_few(
    tx: Tx,
    conditions: Conditions,
    numbers: Sequence[int],
    place: ListingCursor | None,
    page_request: PageRequest,
) -> CardsOfPage:
    """A page of these cards, or of as many of them as are left where some no longer satisfy the conditions."""
    to_come = numbers[page_request.skip :] if place is None else older_than(numbers, place.below)
    listed: list[ListedCard] = []
    while to_come and not listed:
        asked, to_come = to_come[: page_request.limit], to_come[page_request.limit :]
        listed = await listing_store.list_among(tx, conditions, asked)
    return within_bytes(listed, with_data=page_request.with_data)


async def _of_many(
    tx: Tx, conditions: Conditions, counted: int, place: ListingCursor | None, page_request: PageRequest
) -> CardsOfPage:
    below = conditions if place is None else conditions.having("c.id < {0}", place.below)
    skip = page_request.skip if place is None else 0
    if skip >= counted and conditions.are_all(counted):
        return CardsOfPage(())
    listed = await listing_store.list_newest_first(tx, below, limit=page_request.limit, skip=skip)
    return within_bytes(listed, with_data=page_request.with_data)
