"""Judge acts of agents at one listing, one after the other, each with the book that those before it left. Nothing is read or written here.

The book has the orders that the acts can reach (decision 0280): so many points of each side that all of them together do not take more.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms import agents
from hansa.rooms.exchange.matching import Book, End, Ended, Event, Rested, Side, Traded, apply
from hansa.rooms.exchange.matching import Refused as RefusedByBook
from hansa.rooms.exchange.records import Listing

from . import rules
from .errors import OrderUnknown
from .records import Holding, NewOrder, Order, placed_at

OPPOSITE: Mapping[Side, Side] = {"buy": "sell", "sell": "buy"}


class PlaceOrder(msgspec.Struct, frozen=True, eq=False):
    """Act of an agent: place an order."""

    agent: Agent
    new: NewOrder

    @property
    def is_plain(self) -> bool:
        """Nothing but the agent's roles has a say in its payment."""
        return agents.pays_plainly(self.agent, self.new.capability_token)


class CancelOrder(msgspec.Struct, frozen=True, eq=False):
    """Act of an agent: cancel an open order."""

    agent_did: str
    order_id: UUID


Act: TypeAlias = PlaceOrder | CancelOrder


class AwaitsHold(Exception):
    """The act takes a buy of the same transaction, whose hold does not exist before the ledger has made it."""


class Judged(msgspec.Struct, frozen=True):
    """An act with the events of its command, and the number of the order that it placed or cancelled. `most` is what a buy can cost."""

    act: Act
    order: int
    events: list[Event]
    most: Minor
    replaces: int | None = None


class Loaded(msgspec.Struct, frozen=True):
    """State of a listing before its acts are judged: its last number, orders, the points of sellers, and the open orders of agents."""

    drawn: int
    orders: list[Order]
    holdings: dict[str, Holding]
    counts: dict[str, int]


class Reach(msgspec.Struct, frozen=True):
    """Part of a side, best price first: up to a price, if any, and up to so many points."""

    price: int | None
    most: int


def reach_of(side: Side, orders: Sequence[NewOrder], named: Sequence[Order]) -> Reach | None:
    """The part of a side that these arriving orders can take, also after the named orders have ended; None where they take nothing of it."""
    takers = [new for new in orders if new.side == OPPOSITE[side]]
    if not takers:
        return None
    prices = [new.price for new in takers if new.price is not None]
    price = None if len(prices) < len(takers) else max(prices) if side == "sell" else min(prices)
    # One more point than they take: an order that is filled in part has met all that there is.
    most = sum(new.qty for new in takers) + sum(one.remaining for one in named if one.side == side) + 1
    return Reach(price, most)


class Judging:
    """Acts that were judged, orders before and after them by number, and refusals."""

    def __init__(self, listing: Listing, loaded: Loaded) -> None:
        self.listing, self.drawn = listing, loaded.drawn
        self.before = {order.seq: order for order in loaded.orders}
        self.orders = dict(self.before)
        self.book = Book(
            loaded.drawn,
            [order.resting for _, order in sorted(self.orders.items()) if order.ended_because is None],
        )
        self.judged: list[Judged] = []
        self.refused: dict[Act, Refused] = {}
        self._by_id = {order.id: order.seq for order in loaded.orders}
        self._free = Counter({did: holding.free for did, holding in loaded.holdings.items()})
        self._counts = Counter(loaded.counts)

    def judge_all(self, acts: Iterable[Act]) -> None:
        """Judge the acts until one of them awaits a hold; it and those behind it are left."""
        for act in acts:
            try:
                if isinstance(act, PlaceOrder):
                    self._place(act)
                else:
                    self._cancel(act)
            except AwaitsHold:
                return
            except Refused as refusal:
                self.refused[act] = refusal

    @property
    def placed(self) -> list[tuple[PlaceOrder, Judged]]:
        """The acts that placed orders."""
        return [(one.act, one) for one in self.judged if isinstance(one.act, PlaceOrder)]

    @property
    def filled(self) -> dict[int, int]:
        """Points that were taken from orders that rested before, by their numbers."""
        taken: Counter[int] = Counter()
        for event in self._events():
            if isinstance(event, Traded) and event.maker <= self.drawn:
                taken[event.maker] += event.qty
        return dict(taken)

    @property
    def ended(self) -> list[Ended]:
        """Ends of orders that rested before, but for those that were filled."""
        return [
            event
            for event in self._events()
            if isinstance(event, Ended) and event.order <= self.drawn and event.remaining
        ]

    @property
    def has_makers(self) -> bool:
        """Return whether an order was taken."""
        return any(isinstance(event, Traded) for event in self._events())

    def _events(self) -> Iterable[Event]:
        return (event for one in self.judged for event in one.events)

    def _place(self, act: PlaceOrder) -> None:
        """Raises: ListingHalted, ListingState, OrderTermsInvalid, OrderUnknown, OrderEnded, PostOnly, TooManyOrders, InsufficientPoints, AwaitsHold."""
        new, did, owner = act.new, act.agent.did, act.agent.owner.name
        rules.require_trading(self.listing)
        rules.require_terms(new, self.listing.tick)
        replaced = None if new.replaces is None else self._replaced(new.replaces, did)
        most = rules.most_to_pay(new, self.book) if new.side == "buy" else ZERO
        replaces = None if replaced is None else replaced.seq
        events = apply(self.book, placed_at(self.book.seq + 1, new, did, owner, replaces))
        if isinstance(events[0], RefusedByBook):
            raise rules.refusal_of(events[0])
        rules.require_room(self._counts[did] - (replaced is not None))
        if new.side == "sell":
            freed = replaced.remaining if replaced is not None and replaced.side == "sell" else 0
            rules.require_points(self._free[did], freed, new.qty)
        order = Order(
            new.ref,
            self.book.seq + 1,
            new.id,
            did,
            owner,
            new.side,
            new.qty,
            new.price,
            new.time_in_force,
            new.post_only,
            new.qty,
            None,
            new.client_order_id,
            new.digest,
            None,
            False,
            None,
            None,
            self.listing.now,
        )
        self._require_holds(events)
        self.orders[order.seq] = order
        self._advance(Judged(act, order.seq, events, most, replaces))

    def _cancel(self, act: CancelOrder) -> None:
        """Raises: OrderUnknown, OrderEnded."""
        order = self._own(act.order_id, act.agent_did)
        rules.require_open(order)
        self._advance(
            Judged(act, order.seq, apply(self.book, End(self.book.seq + 1, order.seq, "cancelled")), ZERO)
        )

    def _replaced(self, order_id: UUID, agent_did: str) -> Order:
        """Raises: OrderUnknown, OrderEnded."""
        try:
            replaced = self._own(order_id, agent_did)
        except OrderUnknown:
            raise OrderUnknown("This agent has no order with the id `replaces` at this listing.") from None
        rules.require_open(replaced)
        return replaced

    def _own(self, order_id: UUID, agent_did: str) -> Order:
        seq = self._by_id.get(order_id)
        if seq is None or self.orders[seq].agent_did != agent_did:
            raise OrderUnknown
        return self.orders[seq]

    def _require_holds(self, events: Iterable[Event]) -> None:
        for event in events:
            if (
                isinstance(event, Traded)
                and event.maker > self.drawn
                and self.orders[event.maker].side == "buy"
            ):
                raise AwaitsHold

    def _advance(self, judged: Judged) -> None:
        self.judged.append(judged)
        self.book.advance(judged.events)
        for event in judged.events:
            match event:
                case Traded(taker=taker, maker=maker, qty=qty):
                    for seq in (taker, maker):
                        self.orders[seq] = replace(
                            self.orders[seq], remaining=self.orders[seq].remaining - qty
                        )
                    self._move_points(taker, maker, qty)
                case Rested(seq=seq, agent=agent, side=side, qty=qty):
                    self._counts[agent] += 1
                    if side == "sell":
                        self._free[agent] -= qty
                case Ended(order=seq, remaining=remaining, because=because):
                    order = self.orders[seq]
                    self.orders[seq] = replace(order, remaining=remaining, ended_because=because)
                    if seq != judged.order or isinstance(judged.act, CancelOrder):
                        self._counts[order.agent_did] -= 1
                        if order.side == "sell":
                            self._free[order.agent_did] += remaining

    def _move_points(self, taker: int, maker: int, qty: int) -> None:
        """Points of a maker are locked, those of a taker are free."""
        if self.orders[taker].side == "sell":
            self._free[self.orders[taker].agent_did] -= qty
            self._free[self.orders[maker].agent_did] += qty
        else:
            self._free[self.orders[taker].agent_did] += qty
