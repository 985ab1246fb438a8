"""Book of a listing: the resting orders of both sides, best price first, at one price in the order of their seq.

A level is found by its price in O(1) and put in place in O(log n) comparisons; an order leaves its level in O(1).
"""

import hashlib
from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterable, Iterator

import msgspec

from .commands import Side
from .events import Ended, Event, Placed, Refused, Rested, Traded


class Resting(msgspec.Struct):
    """Order that rests in the book, with the quantity that is left of it."""

    seq: int
    agent: str
    owner: str
    side: Side
    price: int
    remaining: int


class Level:
    """Orders at one price. A linked order of keys: a plain dict would search its first key among all that left before."""

    __slots__ = ("orders", "qty")

    def __init__(self) -> None:
        self.orders: OrderedDict[int, Resting] = OrderedDict()
        self.qty = 0


class HalfBook:
    """One side of a book. `_ranks` ascends to the best price: that of buys as it is, that of sells negated."""

    __slots__ = ("_levels", "_ranks", "_sign")

    def __init__(self, side: Side) -> None:
        self._sign = 1 if side == "buy" else -1
        self._ranks: list[int] = []
        self._levels: dict[int, Level] = {}

    def best_first(self) -> Iterator[Resting]:
        """The resting orders in the order in which they trade."""
        for rank in reversed(self._ranks):
            yield from self._levels[rank * self._sign].orders.values()

    def depth(self, levels: int) -> list[tuple[int, int, int]]:
        """Price, quantity and number of orders of the best levels."""
        best = [rank * self._sign for rank in self._ranks[: -levels - 1 : -1]]
        return [(price, self._levels[price].qty, len(self._levels[price].orders)) for price in best]

    def add(self, order: Resting) -> None:
        """Put an order behind the others at its price."""
        level = self._levels.get(order.price)
        if level is None:
            level = self._levels[order.price] = Level()
            insort(self._ranks, order.price * self._sign)
        level.orders[order.seq] = order
        level.qty += order.remaining

    def reduce(self, order: Resting, qty: int) -> None:
        """Take a quantity from an order; without a rest it leaves the book."""
        level = self._levels[order.price]
        level.qty -= qty
        order.remaining -= qty
        if order.remaining:
            return
        del level.orders[order.seq]
        if not level.orders:
            del self._levels[order.price]
            rank = order.price * self._sign
            self._ranks.pop(bisect_left(self._ranks, rank))


class Book:
    """State of the matching of one listing; `seq` is the last number that was drawn for it."""

    __slots__ = ("_resting", "buys", "sells", "seq")

    def __init__(self, seq: int = 0, resting: Iterable[Resting] = ()) -> None:
        """A book with these orders, which come in the order of their seq."""
        self.seq = seq
        self.buys, self.sells = HalfBook("buy"), HalfBook("sell")
        self._resting: dict[int, Resting] = {}
        for order in resting:
            self._add(order)

    def side(self, side: Side) -> HalfBook:
        """One side of the book."""
        return self.buys if side == "buy" else self.sells

    def find(self, seq: int) -> Resting | None:
        """A resting order, None where no order with this seq rests."""
        return self._resting.get(seq)

    def advance(self, events: Iterable[Event]) -> None:
        """Change the book by the events of one or more commands, in their order."""
        for event in events:
            match event:
                case Placed(seq=seq):
                    self.seq = seq
                case Traded(seq=seq, maker=maker, qty=qty):
                    self.seq = seq
                    self._reduce(self._resting[maker], qty)
                case Rested():
                    self._add(
                        Resting(event.seq, event.agent, event.owner, event.side, event.price, event.qty)
                    )
                case Ended(seq=seq, order=ended, remaining=remaining):
                    self.seq = seq
                    # An order that ends without having rested, or that its last trade took out, is not in the book.
                    if ended in self._resting:
                        self._reduce(self._resting[ended], remaining)
                case Refused():
                    pass

    def fingerprint(self) -> str:
        """SHA-256 of the seq and of every resting order in the order in which they trade."""
        orders = [
            msgspec.structs.astuple(order) for side in (self.buys, self.sells) for order in side.best_first()
        ]
        return hashlib.sha256(msgspec.json.encode((self.seq, orders))).hexdigest()

    def _add(self, order: Resting) -> None:
        self._resting[order.seq] = order
        self.side(order.side).add(order)

    def _reduce(self, order: Resting, qty: int) -> None:
        self.side(order.side).reduce(order, qty)
        if not order.remaining:
            del self._resting[order.seq]


def replayed(events: Iterable[Event]) -> Book:
    """The book that the events of all commands give."""
    book = Book()
    book.advance(events)
    return book
