"""Cases of the public matching-engine-benchmark and of the terms of orders, each on an empty book."""

import pytest

from hansa.rooms.exchange.matching import (
    Book,
    End,
    Ended,
    Event,
    OutOfSequence,
    Place,
    Refused,
    Rested,
    Side,
    TimeInForce,
    Traded,
    apply,
)
from tests.rooms.exchange.benchmark_format import CANCEL, MODIFY, NEW, Message, Replay, read, written


class Desk:
    """A book and short commands to it; each order has an owner of its own unless one is named."""

    def __init__(self) -> None:
        self.book = Book()
        self.events: list[Event] = []

    def place(
        self,
        side: Side,
        qty: int,
        price: int | None,
        time_in_force: TimeInForce = "gtc",
        *,
        owner: str | None = None,
        post_only: bool = False,
        replaces: int | None = None,
    ) -> int:
        seq = self.book.seq + 1
        party = owner or f"owner-{seq}"
        if price is None:
            time_in_force = "ioc"
        command = Place(
            seq, party, party, side, qty, price, time_in_force, post_only=post_only, replaces=replaces
        )
        self._carry_out(command)
        return seq

    def buy(self, qty: int, price: int, **terms: object) -> int:
        return self.place("buy", qty, price, **terms)  # type: ignore[arg-type]

    def sell(self, qty: int, price: int, **terms: object) -> int:
        return self.place("sell", qty, price, **terms)  # type: ignore[arg-type]

    def cancel(self, order: int) -> None:
        self._carry_out(End(self.book.seq + 1, order, "cancelled"))

    def _carry_out(self, command: Place | End) -> None:
        self.events = apply(self.book, command)
        self.book.advance(self.events)

    @property
    def trades(self) -> list[tuple[int, int, int]]:
        """Maker, price and quantity of the trades of the last command."""
        return [(e.maker, e.price, e.qty) for e in self.events if isinstance(e, Traded)]

    @property
    def rested(self) -> int:
        """The quantity that the last command left in the book."""
        return sum(e.qty for e in self.events if isinstance(e, Rested))

    @property
    def ended(self) -> list[tuple[int, int, str]]:
        """Order, rest and reason of each order that the last command ended."""
        return [(e.order, e.remaining, e.because) for e in self.events if isinstance(e, Ended)]

    def depth(self, side: Side) -> list[tuple[int, int, int]]:
        return self.book.side(side).depth(200)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_cancelled_order_in_the_middle_or_at_the_head_loses_none_behind_it(desk: Desk) -> None:
    first, middle, last = (desk.sell(5, 100) for _ in range(3))
    desk.cancel(middle)
    assert desk.ended == [(middle, 5, "cancelled")]
    desk.cancel(first)
    assert desk.depth("sell") == [(100, 5, 1)]
    desk.buy(5, 100)
    assert desk.trades == [(last, 100, 5)]
    assert desk.depth("sell") == []


def test_scattered_cancels_keep_the_order_of_a_deep_queue(desk: Desk) -> None:
    orders = [desk.sell(1, 100) for _ in range(20)]
    for order in orders[1::3]:
        desk.cancel(order)
    left = [order for order in orders if order not in orders[1::3]]
    desk.buy(len(left), 100)
    assert desk.trades == [(order, 100, 1) for order in left]


def test_an_order_trades_level_by_level_from_the_best_price_at_the_price_of_the_makers(desk: Desk) -> None:
    dear, cheap, middle = desk.sell(3, 103), desk.sell(3, 101), desk.sell(3, 102)
    taker = desk.buy(9, 110)
    assert desk.trades == [(cheap, 101, 3), (middle, 102, 3), (dear, 103, 3)]
    assert desk.ended[-1] == (taker, 0, "filled")
    assert desk.depth("buy") == desk.depth("sell") == []
    low, high = desk.buy(3, 97), desk.buy(3, 99)
    desk.sell(6, 90)
    assert desk.trades == [(high, 99, 3), (low, 97, 3)]


def test_the_rest_of_an_order_stops_at_its_price_and_is_the_new_best_one(desk: Desk) -> None:
    near, _far = desk.sell(2, 100), desk.sell(2, 105)
    taker = desk.buy(5, 102)
    assert (desk.trades, desk.rested) == ([(near, 100, 2)], 3)
    assert desk.depth("buy") == [(102, 3, 1)]
    desk.sell(3, 101)
    assert desk.trades == [(taker, 102, 3)]


def test_an_immediate_order_never_joins_the_book(desk: Desk) -> None:
    desk.sell(2, 100)
    taker = desk.buy(5, 100, time_in_force="ioc")
    assert desk.ended[-1] == (taker, 3, "ioc")
    assert desk.depth("buy") == desk.depth("sell") == []


def test_a_maker_that_was_taken_in_part_stays_first(desk: Desk) -> None:
    first, second = desk.sell(10, 100), desk.sell(10, 100)
    for _ in range(3):
        desk.buy(3, 100)
        assert desk.trades == [(first, 100, 3)]
    desk.buy(3, 100)
    assert desk.trades == [(first, 100, 1), (second, 100, 2)]
    desk.cancel(second)
    assert desk.ended == [(second, 8, "cancelled")]


def test_an_order_that_is_gone_is_not_cancelled_or_replaced_and_nothing_changes(desk: Desk) -> None:
    filled = desk.sell(1, 100, owner="one")
    desk.buy(1, 100)
    for order in (filled, 99):
        before = desk.book.fingerprint()
        desk.cancel(order)
        assert desk.events == [Refused("gone")]
        desk.sell(1, 100, owner="one", replaces=order)
        assert desk.events == [Refused("gone")]
        assert desk.book.fingerprint() == before


def test_an_order_of_another_agent_is_not_replaced(desk: Desk) -> None:
    other = desk.sell(1, 100, owner="one")
    desk.sell(1, 99, owner="two", replaces=other)
    assert desk.events == [Refused("gone")]
    assert desk.depth("sell") == [(100, 1, 1)]


def test_a_replaced_order_loses_its_priority_and_its_neighbour_stays(desk: Desk) -> None:
    first, second = desk.sell(4, 100, owner="one"), desk.sell(4, 100)
    again = desk.sell(5, 100, owner="one", replaces=first)
    assert desk.ended == [(first, 4, "replaced")]
    desk.buy(9, 100)
    assert desk.trades == [(second, 100, 4), (again, 100, 5)]


def test_a_replacing_order_that_crosses_trades_at_the_price_of_the_maker(desk: Desk) -> None:
    maker = desk.sell(4, 100)
    bid = desk.buy(4, 95, owner="one")
    desk.buy(4, 104, owner="one", replaces=bid)
    assert desk.trades == [(maker, 100, 4)]
    maker = desk.buy(4, 100)
    offer = desk.sell(4, 108, owner="one")
    desk.sell(4, 96, owner="one", replaces=offer)
    assert desk.trades == [(maker, 100, 4)]


def test_an_order_does_not_reach_the_one_that_it_replaces(desk: Desk) -> None:
    offer, behind = desk.sell(4, 100, owner="one"), desk.sell(4, 101)
    desk.buy(4, 101, owner="one", replaces=offer)
    assert desk.trades == [(behind, 101, 4)]


def test_a_cancel_of_the_best_level_leaves_no_price_behind(desk: Desk) -> None:
    best, _next = desk.buy(1, 100), desk.buy(1, 98)
    desk.cancel(best)
    assert desk.depth("buy") == [(98, 1, 1)]


def test_a_sweep_of_five_thousand_orders_takes_them_in_turn(desk: Desk) -> None:
    makers = [desk.sell(1, 10**17) for _ in range(5_000)]
    desk.buy(5_001, 10**17)
    assert [maker for maker, _, _ in desk.trades] == makers
    assert desk.rested == 1


def test_all_or_nothing_is_filled_across_makers_or_leaves_the_book_as_it_was(desk: Desk) -> None:
    for price in (100, 101, 103):
        desk.sell(2, price)
    before = desk.depth("sell")
    short = desk.buy(5, 102, time_in_force="fok")
    assert (desk.trades, desk.ended) == ([], [(short, 5, "fok")])
    assert desk.depth("sell") == before
    desk.buy(4, 102, time_in_force="fok")
    assert len(desk.trades) == 2
    assert desk.depth("sell") == [(103, 2, 1)]


def test_an_order_ends_at_one_of_its_own_owner_and_keeps_what_it_traded_before(desk: Desk) -> None:
    other, own = desk.sell(2, 100), desk.sell(2, 101, owner="one")
    behind = desk.sell(2, 102)
    taker = desk.buy(6, 105, owner="one")
    assert desk.trades == [(other, 100, 2)]
    assert desk.ended[-1] == (taker, 4, "self_trade")
    assert [order for order in (own, behind) if desk.book.find(order)] == [own, behind]
    whole = desk.buy(1, 105, owner="one", time_in_force="fok")
    assert desk.ended == [(whole, 1, "self_trade")]


def test_an_order_that_is_only_posted_is_refused_where_it_would_trade(desk: Desk) -> None:
    offer = desk.sell(2, 100, owner="one")
    before = desk.book.fingerprint()
    for owner in ("one", "two"):
        desk.buy(1, 100, owner=owner, post_only=True)
        assert desk.events == [Refused("post_only")]
    desk.sell(1, 101, owner="one", post_only=True, replaces=offer)
    assert desk.rested == 1
    assert desk.book.fingerprint() != before
    desk.buy(1, 100, post_only=True)
    assert desk.rested == 1


def test_a_refused_order_leaves_the_one_that_it_would_replace(desk: Desk) -> None:
    desk.sell(2, 100)
    bid = desk.buy(2, 90, owner="one")
    desk.buy(2, 100, owner="one", post_only=True, replaces=bid)
    assert desk.events == [Refused("post_only")]
    assert desk.depth("buy") == [(90, 2, 1)]


@pytest.mark.parametrize(("best", "last"), [(100, 110), (105, 115), (9, 9), (10**15 + 7, 11 * 10**14 + 7)])
def test_a_market_buy_takes_up_to_a_tenth_beyond_the_best_price(desk: Desk, best: int, last: int) -> None:
    first, edge = desk.sell(1, best), desk.sell(1, last)
    desk.sell(1, last + 1)
    taker = desk.place("buy", 5, None)
    assert desk.trades == [(first, best, 1), (edge, last, 1)]
    assert desk.ended[-1] == (taker, 3, "collar")


@pytest.mark.parametrize(("best", "last"), [(100, 90), (105, 95), (9, 9), (11, 10)])
def test_a_market_sell_takes_down_to_a_tenth_below_the_best_price(desk: Desk, best: int, last: int) -> None:
    first, edge = desk.buy(1, best), desk.buy(1, last)
    desk.buy(1, last - 1)
    taker = desk.place("sell", 5, None)
    assert desk.trades == [(first, best, 1), (edge, last, 1)]
    assert desk.ended[-1] == (taker, 3, "collar")


def test_a_market_order_ends_with_an_empty_side(desk: Desk) -> None:
    taker = desk.place("buy", 5, None)
    assert desk.ended == [(taker, 5, "ioc")]


def test_a_command_out_of_sequence_is_refused(desk: Desk) -> None:
    desk.sell(1, 100)
    desk.buy(1, 100)
    assert desk.book.seq == 3, "an order, an order and their trade"
    for seq in (0, 2, 3):
        with pytest.raises(OutOfSequence):
            apply(desk.book, Place(seq, "a", "a", "buy", 1, 1))


@pytest.mark.parametrize(
    "terms",
    [
        {"qty": 0},
        {"price": 0},
        {"price": None, "time_in_force": "fok"},
        {"price": None},
        {"time_in_force": "ioc", "post_only": True},
    ],
)
def test_terms_that_exclude_each_other_make_no_command(terms: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"greater than 0|market order|only posted"):
        Place(**{"seq": 1, "agent": "a", "owner": "a", "side": "buy", "qty": 1, "price": 1} | terms)  # type: ignore[arg-type]


def test_messages_of_the_benchmark_give_its_reports() -> None:
    """New orders, trades at the maker's price, the rest of an immediate order, modified orders, and what is not resting."""
    messages = [
        Message(NEW, 1, 0, 5, 1, 11, 1_010),
        Message(NEW, 1, 0, 5, 2, 12, 1_005),
        Message(NEW, 0, 0, 7, 3, 13, 1_010),
        Message(MODIFY, 0, 0, 4, 4, 13, 1_000),
        Message(NEW, 0, 0, 2, 5, 14, 1_000),
        Message(MODIFY, 1, 0, 4, 6, 11, 1_000),
        Message(NEW, 1, 1, 9, 7, 15, 999),
        Message(CANCEL, 1, 0, 0, 8, 11, 0),
        Message(NEW, 0, 0, 6, 9, 11, 990),
        Message(CANCEL, 0, 0, 0, 10, 11, 0),
        Message(MODIFY, 0, 0, 7, 11, 11, 991),
    ]
    replay = Replay()
    for message in read(written(messages)):
        replay.take(message)
    assert replay.lines().split("\n") == [
        "0,1,1,11,1010,5",
        "0,2,1,12,1005,5",
        "0,3,0,13,1010,7",
        "1,3,1005,5,12,13",
        "1,3,1010,2,11,13",
        "5,4,13",
        "0,5,0,14,1000,2",
        "1,6,1000,2,14,11",
        "3,6,1,11,1000,4",
        "0,7,1,15,999,9",
        "2,7,1,15,999",
        "2,8,1,11,1000",
        "0,9,0,11,990,6",
        "2,10,0,11,990",
        "5,11,11",
    ]
