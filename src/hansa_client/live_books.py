"""The book of a listing, kept current with its changes: a pure fold of the book as it was read and of what came since.

- Each change begins at the number where the last one ended. One that comes early waits for those before it.
- Changes that the book as it was read has already are dropped.
- The book was read to a depth. Of a side with that many levels nothing is known beyond its last one; where better levels have left it, so
  that fewer than half are known, it has to be read anew.
"""

from datetime import UTC, datetime
from decimal import Decimal

from .records.market import Book, BookChange, Level

DEPTH = 200
PENDING_MAX = 1000
_NOTHING = (0, 0)


class LiveBook:
    """One book. `is_lost`: it has to be read anew."""

    def __init__(self, read: Book) -> None:
        self.seq = read.seq
        self._sides = {
            "buy": _Side(read.bids, is_rising=False),
            "sell": _Side(read.asks, is_rising=True),
        }
        self._pending: dict[int, BookChange] = {}
        self._at = read.as_of

    @property
    def is_lost(self) -> bool:
        """Return whether changes are missing, or too little of a side is known."""
        return len(self._pending) > PENDING_MAX or any(side.is_lost for side in self._sides.values())

    def take(self, change: BookChange) -> bool:
        """Apply a change, and those that waited for it; return whether the book has changed."""
        if change.seq <= self.seq:
            return False
        self._pending[change.after] = change
        before = self.seq
        while (following := self._pending.pop(self.seq, None)) is not None:
            for level in following.changes:
                self._sides[level.side].change(level.price, level.qty, level.orders)
            self.seq = following.seq
        self._at = datetime.now(UTC)
        return self.seq != before

    def book(self, depth: int) -> Book:
        """So many of the best levels of both sides."""
        bids, asks = self._sides["buy"].levels, self._sides["sell"].levels
        best = (sorted(bids, reverse=True)[:depth], sorted(asks)[:depth])
        return Book(
            [_level(price, bids[price]) for price in best[0]],
            [_level(price, asks[price]) for price in best[1]],
            self.seq,
            self._at,
        )


class _Side:
    def __init__(self, levels: list[Level], *, is_rising: bool) -> None:
        self.levels = {price: (qty, orders) for price, qty, orders in levels}
        self._last = levels[-1][0] if len(levels) >= DEPTH else None
        self._is_rising = is_rising

    @property
    def is_lost(self) -> bool:
        return self._last is not None and len(self.levels) < DEPTH // 2

    def change(self, price: Decimal, qty: int, orders: int) -> None:
        if self._last is not None and (price > self._last if self._is_rising else price < self._last):
            return
        had = self.levels.pop(price, _NOTHING)
        now = (had[0] + qty, had[1] + orders)
        if now != _NOTHING:
            self.levels[price] = now


def _level(price: Decimal, at_it: tuple[int, int]) -> Level:
    return (price, *at_it)
