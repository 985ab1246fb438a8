"""Decisions of reading a peer that need neither the network nor the database."""

from collections.abc import Sequence

from hansa.rooms.catalogue.exports.records import Range

from .records import JudgedPage, PageRefused, Progress, RelayedPage

PAGE_SIZE_MIN, PAGE_SIZE_MAX = 200, 10_000
QUICK_SECONDS, SLOW_SECONDS = 2.0, 6.0
EMPTY_PAGES_MAX = 3
"""Pages in a row without an item that still report more."""
RANGE_CARDS_MAX = 500
PREFIX_MAX = 8


def next_page_size(size: int, seconds: float) -> int:
    """How many cards to ask for after a page that took so long."""
    if seconds < QUICK_SECONDS:
        size *= 2
    elif seconds > SLOW_SECONDS:
        size //= 2
    return min(PAGE_SIZE_MAX, max(PAGE_SIZE_MIN, size))


def begins_anew(progress: Progress, page: JudgedPage) -> bool:
    """Return whether the peer is to be read from the start: its database was restored, or its items have another shape.

    Raises: PageRefused for an epoch that has ended.
    """
    if progress.epoch is None:
        return False
    if page.epoch < progress.epoch:
        raise PageRefused("epoch_older")
    return (page.epoch, page.export_version) != (progress.epoch, progress.export_version)


def is_nothing_new(since: str | None, page: JudgedPage) -> bool:
    """Return whether a page has no item and leaves the place where it was: there is nothing to write."""
    return page.size == 0 and page.next == since and not page.more


class Endless:
    """Finds out that a peer reports more for ever without bringing anything."""

    def __init__(self) -> None:
        self._empty = 0

    def require_progress(self, since: str | None, page: JudgedPage | RelayedPage) -> None:
        """Raises: PageRefused."""
        if not page.more:
            return
        if page.next == since:
            raise PageRefused("cursor_stuck")
        self._empty = 0 if page.size else self._empty + 1
        if self._empty >= EMPTY_PAGES_MAX:
            raise PageRefused("more_without_items")


def differing(theirs: Sequence[Range], ours: Sequence[Range]) -> list[Range]:
    """Return the ranges in which the mirrors differ from the peer's export; with the larger of both counts."""
    of_both = {part.prefix: part for part in theirs}, {part.prefix: part for part in ours}
    found = []
    for prefix in sorted(of_both[0].keys() | of_both[1].keys()):
        here, there = of_both[1].get(prefix), of_both[0].get(prefix)
        if here != there:
            cards = max(part.cards for part in (here, there) if part is not None)
            found.append(Range(prefix, cards, ""))
    return found


def is_read_whole(part: Range) -> bool:
    """Return whether the cards of a differing range are read, instead of comparing its parts."""
    return part.cards <= RANGE_CARDS_MAX or len(part.prefix) >= PREFIX_MAX
