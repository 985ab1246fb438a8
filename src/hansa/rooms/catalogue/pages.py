"""Pages of the card list: the request of a page, the cards on it, and the batches in which they are read.

- A page ends before its limit where the documents of its cards are larger than PAGE_MAX_BYTES together.
- The cards of a page are chosen in one transaction and read in batches, so that a long page needs little memory.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from .card_conditions import Conditions
from .records import Card, ListedCard, Tombstone

PAGE_MAX_BYTES = 64 * 1024 * 1024
BATCH_MAX_BYTES = 1024 * 1024
BATCH_MAX_CARDS = 250


class PageRequest(msgspec.Struct, frozen=True):
    """How much of the listing, from where, and whether with the documents."""

    limit: int
    skip: int
    updated_since: datetime | None
    next: str | None
    with_data: bool


class CardsOfPage(msgspec.Struct, frozen=True):
    """The cards chosen for a page, and whether their size ended it."""

    listed: Sequence[ListedCard]
    is_cut: bool = False


class CardsPage(msgspec.Struct, frozen=True):
    """A page and its cursor; `next` is None at the end. Only readings of changes have tombstones and `resume`.

    `cards` are the first of its `chosen` cards, `later` the numbers of the others, in batches that are read with `conditions`. Where
    `total_is_exact` does not hold there are more than `total` cards.
    """

    chosen: CardsOfPage
    conditions: Conditions
    total: int
    total_is_exact: bool
    offset: int
    next: str | None
    cards: list[Card] = []
    later: tuple[tuple[int, ...], ...] = ()
    follows_changes: bool = False
    tombstones: tuple[Tombstone, ...] = ()
    resume: str | None = None


def within_bytes(listed: Sequence[ListedCard], *, with_data: bool) -> CardsOfPage:
    """Return as many of the cards as a page may have; at least one."""
    total = 0
    for position, card in enumerate(listed if with_data else ()):
        if total >= PAGE_MAX_BYTES:
            return CardsOfPage(listed[:position], is_cut=True)
        total += card.card_bytes
    return CardsOfPage(listed)


def batches_of(listed: Sequence[ListedCard], *, with_data: bool) -> Iterator[tuple[int, ...]]:
    """The numbers of the cards, in the batches in which they are read; a card that is larger than a batch has one of its own."""
    batch: list[int] = []
    size = 0
    for card in listed:
        weight = card.card_bytes if with_data else 0
        if batch and (size + weight > BATCH_MAX_BYTES or len(batch) == BATCH_MAX_CARDS):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(card.card_id)
        size += weight
    if batch:
        yield tuple(batch)


def page_of(
    conditions: Conditions, chosen: CardsOfPage, counted: int, offset: int, next_cursor: str | None
) -> CardsPage:
    """A page of cards of which `counted` satisfy the conditions, up to the bound to which cards are counted. Its cards are read later."""
    is_exact = conditions.are_all(counted)
    listed = len(chosen.listed)
    total = counted if is_exact else max(conditions.counted_max, offset + listed)
    return CardsPage(chosen, conditions, total, is_exact, offset, next_cursor)
