"""Second implementation of the matching, over one plain list that each step searches whole, and commands that are drawn for both."""

import hashlib
import random
from dataclasses import dataclass, field

import msgspec

from hansa.rooms.exchange.matching import (
    Command,
    End,
    Ended,
    EndedBecause,
    Event,
    Place,
    Placed,
    Refused,
    Rested,
    Side,
    Traded,
)


@dataclass
class Order:
    """A resting order."""

    seq: int
    agent: str
    owner: str
    side: Side
    price: int
    left: int


@dataclass
class PlainBook:
    """The orders in no order at all."""

    seq: int = 0
    orders: list[Order] = field(default_factory=list)

    def carry_out(self, command: Command) -> list[Event]:
        """Change the book by a command, trade by trade; the events in order."""
        before = copies(self.orders)
        events = self.end(command) if isinstance(command, End) else self.place(command)
        if isinstance(events[0], Refused):
            self.orders = before
        else:
            self.seq = command.seq + sum(isinstance(event, Traded) for event in events)
        return events

    def end(self, command: End) -> list[Event]:
        for order in self.orders:
            if order.seq == command.order:
                self.orders.remove(order)
                return [Ended(command.seq, order.seq, order.left, command.because)]
        return [Refused("gone")]

    def place(self, command: Place) -> list[Event]:
        events: list[Event] = []
        if command.replaces is not None:
            own = [o for o in self.orders if o.seq == command.replaces and o.agent == command.agent]
            if own == []:
                return [Refused("gone")]
            self.orders.remove(own[0])
            events.append(Ended(command.seq, own[0].seq, own[0].left, "replaced"))
        limit = self.limit(command)
        if command.post_only and self.next_maker(command.side, limit) is not None:
            return [Refused("post_only")]
        who = (command.seq, command.agent, command.owner, command.side)
        events.append(Placed(*who, command.qty, command.price))
        before = copies(self.orders)
        traded, left, is_own_next = self.trade(command, limit)
        if command.time_in_force == "fok" and left > 0:
            self.orders = before
            return [
                *events,
                Ended(command.seq, command.seq, command.qty, "self_trade" if is_own_next else "fok"),
            ]
        because: EndedBecause | None = None
        if left == 0:
            because = "filled"
        elif is_own_next:
            because = "self_trade"
        elif command.price is None:
            because = "collar" if [o for o in self.orders if o.side != command.side] else "ioc"
        elif command.time_in_force == "ioc":
            because = "ioc"
        if because is not None:
            trades = [event for event in traded if isinstance(event, Traded)]
            return [*events, *traded, Ended(command.seq + len(trades), command.seq, left, because)]
        assert command.price is not None
        self.orders.append(Order(*who, command.price, left))
        return [*events, *traded, Rested(*who, command.price, left)]

    def trade(self, command: Place, limit: int) -> tuple[list[Event], int, bool]:
        """Trade one maker after the other; the events, the quantity that is left, and whether an order of the same owner is next."""
        events: list[Event] = []
        left, number = command.qty, command.seq
        while left > 0:
            maker = self.next_maker(command.side, limit)
            if maker is None:
                break
            if maker.owner == command.owner:
                return events, left, True
            qty = min(left, maker.left)
            number += 1
            events.append(Traded(number, command.seq, maker.seq, maker.price, qty))
            left, maker.left = left - qty, maker.left - qty
            if maker.left == 0:
                events.append(Ended(number, maker.seq, 0, "filled"))
                self.orders.remove(maker)
        return events, left, False

    def limit(self, command: Place) -> int:
        """The worst price that the order takes."""
        if command.price is not None:
            return command.price
        prices = [order.price for order in self.orders if order.side != command.side]
        if prices == []:
            return 0
        if command.side == "buy":
            return max(p for p in range(min(prices), 2 * min(prices)) if 10 * p <= 11 * min(prices))
        return min(p for p in range(1, max(prices) + 1) if 10 * p >= 9 * max(prices))

    def next_maker(self, side: Side, limit: int) -> Order | None:
        """The order that trades next with one of this side."""
        best: Order | None = None
        for order in self.orders:
            if order.side == side or (order.price > limit if side == "buy" else order.price < limit):
                continue
            if best is None or self.precedes(order, best):
                best = order
        return best

    @staticmethod
    def precedes(one: Order, other: Order) -> bool:
        if one.price == other.price:
            return one.seq < other.seq
        return one.price < other.price if one.side == "sell" else one.price > other.price

    def fingerprint(self) -> str:
        """The SHA-256 that a book with these orders has."""
        buys = sorted((o for o in self.orders if o.side == "buy"), key=lambda o: (-o.price, o.seq))
        sells = sorted((o for o in self.orders if o.side == "sell"), key=lambda o: (o.price, o.seq))
        rows = [(o.seq, o.agent, o.owner, o.side, o.price, o.left) for o in buys + sells]
        return hashlib.sha256(msgspec.json.encode((self.seq, rows))).hexdigest()


def copies(orders: list[Order]) -> list[Order]:
    """The same orders, which change on their own."""
    return [Order(o.seq, o.agent, o.owner, o.side, o.price, o.left) for o in orders]


MID, DEVIATION, OWNERS, AGENTS_OF_AN_OWNER = 200, 10, 6, 2


def drawn_command(rng: random.Random, seq: int, alive: list[int]) -> Command:
    """A command near the middle of a book in which these orders may rest; a part of them names orders that are gone."""
    named = rng.choice(alive) if alive and rng.random() < 0.9 else rng.randrange(seq + 1)
    if alive and rng.random() < 0.25 + len(alive) / 200:
        return End(seq, named, rng.choice(("cancelled", "expired", "suspended", "delisted")))
    owner = rng.randrange(OWNERS)
    side: Side = rng.choice(("buy", "sell"))
    # Buys stand a little lower than sells, so that most orders rest.
    price = max(1, MID + (-6 if side == "buy" else 6) + round(rng.gauss(0, DEVIATION)))
    form = rng.random()
    return Place(
        seq,
        f"agent-{owner}-{rng.randrange(AGENTS_OF_AN_OWNER)}",
        f"owner-{owner}",
        side,
        # A market order may be larger than the other side.
        rng.choice((1, 2, 5, rng.randint(1, 40))) * (10 if form < 0.1 else 1),
        None if form < 0.1 else price,
        "ioc" if form < 0.2 else "fok" if form < 0.3 else "gtc",
        post_only=form > 0.85,
        replaces=named if rng.random() < 0.12 else None,
    )
