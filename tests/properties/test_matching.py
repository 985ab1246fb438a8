"""Matching of orders against a second implementation: the same bytes of events, the same book, for every command that is drawn."""

import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from hansa.rooms.exchange.matching import (
    Book,
    Command,
    Ended,
    Event,
    HalfBook,
    Place,
    Placed,
    Refused,
    Rested,
    Resting,
    Traded,
    apply,
    applying,
    decoded,
    encoded,
    replayed,
)
from tests.properties.matching_oracle import PlainBook, drawn_command
from tests.properties.scale import SEED_OF_A_COMMIT, by_tier, printed_seed

COMMANDS = by_tier(20_000, 100_000, 1_000_000)
COMPARED_EVERY = 1_000


class History:
    """Commands that are drawn and carried out by both, one after the other."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.book, self.plain = Book(), PlainBook()
        self.journal = bytearray()
        self.seen: set[str] = set()

    def step(self) -> Command:
        """Carry out one more command. Raises: AssertionError where the two differ."""
        alive = [order.seq for order in self.plain.orders]
        # Other acts of the listing draw numbers as well.
        seq = self.book.seq + self.rng.choice((1, 1, 1, 4))
        command = drawn_command(self.rng, seq, alive)
        events = apply(self.book, command)
        self.book.advance(events)
        lines = encoded(events)
        assert lines == encoded(self.plain.carry_out(command)), command
        self.journal += lines
        self.seen.update(kind_of(event) for event in events)
        return command

    def steps(self, count: int) -> None:
        """Carry out so many more commands."""
        for _ in range(count):
            self.step()


def kind_of(event: Event) -> str:
    """The kind of an event, with its reason."""
    because = event.because if isinstance(event, Ended | Refused) else ""
    return f"{type(event).__name__} {because}".strip()


def test_every_command_gives_the_events_of_a_plain_search_and_the_journal_gives_the_book() -> None:
    history = History(printed_seed())
    for number in range(COMMANDS):
        history.step()
        if number % COMPARED_EVERY == 0:
            assert history.book.fingerprint() == history.plain.fingerprint()
    assert replayed(decoded(bytes(history.journal))).fingerprint() == history.plain.fingerprint()
    ended = {"filled", "replaced", "ioc", "fok", "collar", "self_trade"}
    by_command = {"cancelled", "expired", "suspended", "delisted"}
    assert history.seen == {
        *("Placed", "Traded", "Rested", "Refused post_only", "Refused gone"),
        *(f"Ended {because}" for because in ended | by_command),
    }, "a kind of event was not drawn"


def test_points_of_every_order_are_traded_ended_or_resting() -> None:
    history = History(printed_seed() + 1)
    history.steps(by_tier(3_000, 30_000, 100_000))
    placed: dict[int, int] = {}
    ended: dict[int, int] = {}
    traded: dict[int, int] = {}
    for event in decoded(bytes(history.journal)):
        match event:
            case Placed():
                placed[event.seq] = event.qty
            case Traded():
                for order in (event.taker, event.maker):
                    traded[order] = traded.get(order, 0) + event.qty
            case Ended():
                assert event.order not in ended, "an order ended twice"
                ended[event.order] = event.remaining
    for order, qty in placed.items():
        resting = history.book.find(order)
        assert (resting is None) == (order in ended)
        assert qty == traded.get(order, 0) + ended.get(order, resting.remaining if resting else 0)


def test_depth_is_the_sum_of_the_orders_at_each_price() -> None:
    history = History(printed_seed() + 2)
    for _ in range(2_000):
        history.step()
        for side, sign in (("buy", -1), ("sell", 1)):
            orders = [order for order in history.plain.orders if order.side == side]
            prices = sorted({order.price for order in orders}, key=lambda price: price * sign)
            levels = [[o.left for o in orders if o.price == price] for price in prices]
            sums = [(price, sum(of), len(of)) for price, of in zip(prices, levels, strict=True)]
            half = history.book.buys if side == "buy" else history.book.sells
            assert half.depth(12) == sums[:12]


def taker_price(patch: pytest.MonkeyPatch) -> None:
    right = applying._place

    def place(book: Book, command: Place) -> list[Event]:
        price = command.price
        return [
            Traded(e.seq, e.taker, e.maker, price, e.qty) if isinstance(e, Traded) and price else e
            for e in right(book, command)
        ]

    patch.setattr(applying, "_place", place)


def newest_first(patch: pytest.MonkeyPatch) -> None:
    right = HalfBook.add

    def add(half: HalfBook, order: Resting) -> None:
        right(half, order)
        half._levels[order.price].orders.move_to_end(order.seq, last=False)

    patch.setattr(HalfBook, "add", add)


def wide_collar(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(applying, "COLLAR_PERCENT", 11)


def own_orders_trade(patch: pytest.MonkeyPatch) -> None:
    right = applying._sweep

    def sweep(book: Book, command: Place) -> applying.Sweep:
        return right(book, replace(command, owner="nobody"))

    patch.setattr(applying, "_sweep", sweep)


def replaced_is_reached(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        applying,
        "_opposite",
        lambda book, command: (book.sells if command.side == "buy" else book.buys).best_first(),
    )


def partly_filled_whole(patch: pytest.MonkeyPatch) -> None:
    right = applying._place

    def place(book: Book, command: Place) -> list[Event]:
        if command.time_in_force == "fok":
            command = replace(command, time_in_force="ioc")
        return right(book, command)

    patch.setattr(applying, "_place", place)


@pytest.mark.parametrize(
    "fault",
    [taker_price, newest_first, wide_collar, own_orders_trade, replaced_is_reached, partly_filled_whole],
)
def test_the_judge_finds_each_fault(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    history = History(SEED_OF_A_COMMIT)
    with pytest.raises(AssertionError):
        history.steps(5_000)


def test_a_resting_order_is_rested_by_its_placing() -> None:
    book = Book()
    events = apply(book, Place(1, "a", "o", "buy", 5, 100))
    assert events == [Placed(1, "a", "o", "buy", 5, 100), Rested(1, "a", "o", "buy", 100, 5)]
    assert book.fingerprint() == Book().fingerprint(), "apply changed its book"
