"""Matching: (book, command) → events. Nothing is changed here, and nothing is read but the book.

- Orders trade by price, then by seq, at the price of the maker.
- An order that reaches one of its own owner ends there.
- A market order takes what is at most 10 % beyond the best opposite price on its arrival; the rest ends.
- An order that is filled whole or not at all is decided by the same sweep, whose trades are then left out.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from .book import Book, Resting
from .commands import Command, End, Place
from .events import Ended, EndedBecause, Event, Placed, Refused, Rested, Traded

COLLAR_PERCENT = 10


class OutOfSequence(Exception):
    """The number of a command does not follow the last number of its book."""


class Sweep(msgspec.Struct, frozen=True):
    """Fills of an order: the makers with the quantity of each, the quantity left, and the reason of the stop, if there is one."""

    fills: list[tuple[Resting, int]]
    left: int
    stopped_by: Literal["price", "self_trade"] | None


def apply(book: Book, command: Command) -> list[Event]:
    """The events of a command; `book.advance` makes them the state.

    Raises: OutOfSequence.
    """
    if command.seq <= book.seq:
        raise OutOfSequence(f"the command has seq {command.seq}, the book {book.seq}")
    return _end(book, command) if isinstance(command, End) else _place(book, command)


def _end(book: Book, command: End) -> list[Event]:
    order = book.find(command.order)
    if order is None:
        return [Refused("gone")]
    return [Ended(command.seq, order.seq, order.remaining, command.because)]


def _place(book: Book, command: Place) -> list[Event]:
    replaced = None
    if command.replaces is not None:
        replaced = book.find(command.replaces)
        if replaced is None or replaced.agent != command.agent:
            return [Refused("gone")]
    sweep = _sweep(book, command)
    if command.post_only and (sweep.fills or sweep.stopped_by == "self_trade"):
        return [Refused("post_only")]
    events: list[Event] = []
    if replaced is not None:
        events.append(Ended(command.seq, replaced.seq, replaced.remaining, "replaced"))
    events.append(Placed(command.seq, command.agent, command.owner, command.side, command.qty, command.price))
    if command.time_in_force == "fok" and sweep.left:
        because: Literal["self_trade", "fok"] = "self_trade" if sweep.stopped_by == "self_trade" else "fok"
        return [*events, Ended(command.seq, command.seq, command.qty, because)]
    for seq, (maker, qty) in enumerate(sweep.fills, command.seq + 1):
        events.append(Traded(seq, command.seq, maker.seq, maker.price, qty))
        if qty == maker.remaining:
            events.append(Ended(seq, maker.seq, 0, "filled"))
    return [*events, _last_event(command, sweep)]


def _last_event(command: Place, sweep: Sweep) -> Event:
    """The end of the order, or its rest in the book."""
    because: EndedBecause
    if not sweep.left:
        because = "filled"
    elif sweep.stopped_by == "self_trade":
        because = "self_trade"
    elif command.price is None and sweep.stopped_by == "price":
        because = "collar"
    elif command.price is None or command.time_in_force == "ioc":
        because = "ioc"
    else:
        return Rested(command.seq, command.agent, command.owner, command.side, command.price, sweep.left)
    return Ended(command.seq + len(sweep.fills), command.seq, sweep.left, because)


def _sweep(book: Book, command: Place) -> Sweep:
    fills: list[tuple[Resting, int]] = []
    left = command.qty
    limit = command.price
    for maker in _opposite(book, command):
        if limit is None:
            limit = collar_of(maker)
        if maker.price > limit if command.side == "buy" else maker.price < limit:
            return Sweep(fills, left, "price")
        if maker.owner == command.owner:
            return Sweep(fills, left, "self_trade")
        taken = min(left, maker.remaining)
        fills.append((maker, taken))
        left -= taken
        if not left:
            break
    return Sweep(fills, left, None)


def _opposite(book: Book, command: Place) -> Iterator[Resting]:
    """The orders that the command may take, without the one that it replaces."""
    opposite = book.sells if command.side == "buy" else book.buys
    return (maker for maker in opposite.best_first() if maker.seq != command.replaces)


def collar_of(best: Resting) -> int:
    """The last price that a market order takes, given the best opposite order on its arrival."""
    if best.side == "sell":
        return best.price * (100 + COLLAR_PERCENT) // 100
    return -(-best.price * (100 - COLLAR_PERCENT) // 100)
