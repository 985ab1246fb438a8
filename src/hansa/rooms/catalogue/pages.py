"""Pages of the card list: what is asked for, and what is answered."""

from datetime import datetime

import msgspec

from .card_conditions import Conditions
from .records import Card, Tombstone


class PageRequest(msgspec.Struct, frozen=True):
    """How much of the listing, from where, and whether with the documents."""

    limit: int
    skip: int
    updated_since: datetime | None
    next: str | None
    with_data: bool


class CardsPage(msgspec.Struct, frozen=True):
    """A page and its cursor; `next` is None at the end. Only readings of changes have tombstones and `resume`.

    Where `total_is_exact` does not hold there are more than `total` cards.
    """

    cards: list[Card]
    total: int
    total_is_exact: bool
    offset: int
    next: str | None
    follows_changes: bool = False
    tombstones: tuple[Tombstone, ...] = ()
    resume: str | None = None


def page_of(
    conditions: Conditions, cards: list[Card], counted: int, offset: int, next_cursor: str | None
) -> CardsPage:
    """A page of cards of which `counted` satisfy the conditions, up to the bound to which cards are counted."""
    is_exact = conditions.are_all(counted)
    total = counted if is_exact else max(conditions.counted_max, offset + len(cards))
    return CardsPage(cards, total, is_exact, offset, next_cursor)
