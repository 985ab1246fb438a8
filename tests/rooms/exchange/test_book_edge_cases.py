"""Edge cases of the public matching-engine-benchmark, restated: orders on an empty book, their trades, and the book that they leave.

A maker and a taker of a trade are named by the ids of their messages. An id of the benchmark may come again once its order is gone; a
`client_order_id` of this exchange does not.
"""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.properties.matching_oracle import PlainBook
from tests.rooms.exchange.benchmark_format import (
    CANCEL,
    CANCEL_REJECT,
    MODIFY,
    MODIFY_REJECT,
    NEW,
    TRADE,
    Message,
    Replay,
    replayed_file,
)

Levels = Sequence[tuple[int, int]]
BUY, SELL = 0, 1
WORKLOADS = Path(__file__).parents[2] / "vectors" / "official"


class Case(NamedTuple):
    """Messages on an empty book; then trades as (maker, taker, price, qty), refused ids, and (price, qty) of both sides."""

    messages: Sequence[Message]
    trades: Sequence[tuple[int, int, int, int]] = ()
    refused: Sequence[int] = ()
    bids: Levels = ()
    asks: Levels = ()


def _new(side: int, order: int, qty: int, price: int, *, ioc: bool = False) -> Message:
    return Message(NEW, side, int(ioc), qty, 0, order, price)


def bid(order: int, qty: int, price: int) -> Message:
    return _new(BUY, order, qty, price)


def ask(order: int, qty: int, price: int) -> Message:
    return _new(SELL, order, qty, price)


def buy(order: int, qty: int, price: int) -> Message:
    """A buy that does not rest."""
    return _new(BUY, order, qty, price, ioc=True)


def sell(order: int, qty: int, price: int) -> Message:
    """A sell that does not rest."""
    return _new(SELL, order, qty, price, ioc=True)


def cancel(order: int) -> Message:
    return Message(CANCEL, BUY, 0, 0, 0, order, 0)


def modify(side: int, order: int, qty: int, price: int) -> Message:
    return Message(MODIFY, side, 0, qty, 0, order, price)


CASES = {
    "a cancel in the middle of a level keeps the orders around it": Case(
        [bid(1, 4, 50), bid(2, 4, 50), bid(3, 4, 50), cancel(2), sell(4, 8, 50)],
        [(1, 4, 50, 4), (3, 4, 50, 4)],
    ),
    "a cancel at the head of a level keeps the orders behind it": Case(
        [bid(1, 4, 50), bid(2, 4, 50), bid(3, 4, 50), cancel(1), sell(4, 8, 50)],
        [(2, 4, 50, 4), (3, 4, 50, 4)],
    ),
    "scattered cancels keep the queue": Case(
        [*(bid(n, 2, 50) for n in range(1, 9)), cancel(2), cancel(5), cancel(7), sell(9, 10, 50)],
        [(n, 9, 50, 2) for n in (1, 3, 4, 6, 8)],
    ),
    "a sweep takes the best price first": Case(
        [ask(1, 4, 52), ask(2, 4, 51), ask(3, 4, 50), buy(4, 12, 52)],
        [(3, 4, 50, 4), (2, 4, 51, 4), (1, 4, 52, 4)],
    ),
    "a sweep of exactly three levels leaves nothing": Case(
        [ask(1, 1, 50), ask(2, 2, 51), ask(3, 3, 52), buy(4, 6, 52)],
        [(1, 4, 50, 1), (2, 4, 51, 2), (3, 4, 52, 3)],
    ),
    "the rest of a sweep is the new best price and is taken": Case(
        [ask(1, 4, 50), ask(2, 4, 51), bid(3, 10, 51), sell(4, 1, 51)],
        [(1, 3, 50, 4), (2, 3, 51, 4), (3, 4, 51, 1)],
        bids=[(51, 1)],
    ),
    "an order that is modified into the other side trades": Case(
        [ask(1, 4, 50), bid(2, 4, 49), modify(BUY, 2, 4, 50)], [(1, 2, 50, 4)]
    ),
    "an order that is modified beyond the other side trades at the price that rested": Case(
        [
            ask(1, 4, 50),
            bid(2, 4, 40),
            modify(BUY, 2, 4, 55),
            bid(3, 4, 90),
            ask(4, 4, 99),
            modify(SELL, 4, 4, 85),
        ],
        [(1, 2, 50, 4), (3, 4, 90, 4)],
    ),
    "an order that is modified away leaves its neighbour in the level": Case(
        [bid(1, 4, 50), bid(2, 4, 50), modify(BUY, 1, 4, 49), sell(3, 4, 50)],
        [(2, 3, 50, 4)],
        bids=[(49, 4)],
    ),
    "the rest of an order that was filled in part is cancelled": Case(
        [ask(1, 4, 50), bid(2, 3, 50), cancel(1), buy(3, 1, 50)], [(1, 2, 50, 3)]
    ),
    "the rest of an order that was filled in part is modified and taken": Case(
        [ask(1, 5, 50), bid(2, 2, 50), modify(SELL, 1, 3, 51), buy(3, 3, 51)],
        [(1, 2, 50, 2), (1, 3, 51, 3)],
    ),
    "an order that was filled is neither cancelled nor modified": Case(
        [ask(1, 4, 50), bid(2, 4, 50), cancel(1), modify(SELL, 1, 2, 51), cancel(2)],
        [(1, 2, 50, 4)],
        refused=[1, 1, 2],
    ),
    "an order that was cancelled is neither cancelled nor modified": Case(
        [bid(1, 4, 50), cancel(1), cancel(1), modify(BUY, 1, 2, 51)], refused=[1, 1]
    ),
    "an order that never came is neither cancelled nor modified": Case(
        [cancel(7), modify(BUY, 7, 2, 50), cancel(2_000_000)], refused=[7, 7, 2_000_000]
    ),
    "the first of two orders at a price is taken first": Case(
        [bid(1, 4, 50), bid(2, 4, 50), ask(3, 4, 50)], [(1, 3, 50, 4)], bids=[(50, 4)]
    ),
    "a sell takes the highest level first, after cancels at the head and at the tail": Case(
        [bid(1, 4, 50), bid(2, 4, 50), bid(3, 4, 51), bid(4, 4, 51), cancel(1), cancel(4), sell(5, 8, 50)],
        [(3, 5, 51, 4), (2, 5, 50, 4)],
    ),
    "prices come before arrival on both sides": Case(
        [
            *(ask(1, 4, 55), ask(2, 4, 50), buy(3, 4, 55)),
            *(bid(4, 4, 40), bid(5, 4, 45), bid(6, 4, 42), sell(7, 12, 40)),
        ],
        [(2, 3, 50, 4), (5, 7, 45, 4), (6, 7, 42, 4), (4, 7, 40, 4)],
        asks=[(55, 4)],
    ),
    "the id of a cancelled order names a new one": Case(
        [bid(1, 4, 50), cancel(1), ask(1, 4, 70), buy(2, 4, 70)], [(1, 2, 70, 4)]
    ),
    "the id of a filled order names a new one": Case(
        [bid(1, 4, 50), ask(2, 4, 50), ask(1, 4, 70), buy(3, 4, 70)], [(1, 2, 50, 4), (1, 3, 70, 4)]
    ),
    "a taker on either side pays or gets the price that rested": Case(
        [ask(1, 4, 50), buy(2, 4, 55), bid(3, 4, 90), sell(4, 4, 85)], [(1, 2, 50, 4), (3, 4, 90, 4)]
    ),
    "an order that takes a whole level rests with what is left, and is taken": Case(
        [ask(1, 3, 9), ask(2, 4, 9), bid(3, 10, 9), sell(4, 2, 9)],
        [(1, 3, 9, 3), (2, 3, 9, 4), (3, 4, 9, 2)],
        bids=[(9, 1)],
    ),
    "a level that a sweep emptied takes new orders": Case(
        [ask(1, 4, 50), ask(2, 4, 51), buy(3, 8, 51), ask(4, 2, 50), ask(5, 2, 52), buy(6, 4, 52)],
        [(1, 3, 50, 4), (2, 3, 51, 4), (4, 6, 50, 2), (5, 6, 52, 2)],
    ),
    "the best bid that is cancelled is no price any more": Case(
        [bid(1, 4, 50), bid(2, 3, 49), cancel(1)], bids=[(49, 3)]
    ),
    "the best offer that is cancelled is no price any more": Case(
        [ask(1, 4, 50), ask(2, 3, 51), cancel(1)], asks=[(51, 3)]
    ),
    "behind the best bid that is cancelled the next one is taken": Case(
        [bid(1, 4, 50), bid(2, 3, 49), cancel(1), sell(3, 3, 49)], [(2, 3, 49, 3)]
    ),
    "behind the best offer that is cancelled the next one is taken": Case(
        [ask(1, 4, 50), ask(2, 3, 51), cancel(1), buy(3, 3, 51)], [(2, 3, 51, 3)]
    ),
    "a side that became empty is filled again": Case(
        [bid(1, 4, 50), cancel(1), bid(2, 3, 45), sell(3, 3, 45)], [(2, 3, 45, 3)]
    ),
    "the rest of an order that does not rest is gone": Case(
        [ask(1, 4, 50), buy(2, 6, 50), sell(3, 2, 50)], [(1, 2, 50, 4)]
    ),
    "an order stops at its own price and rests there": Case(
        [ask(1, 2, 50), ask(2, 4, 55), bid(3, 5, 52), sell(4, 3, 52)],
        [(1, 3, 50, 2), (3, 4, 52, 3)],
        asks=[(55, 4)],
    ),
    "what is left of an order is taken exactly": Case(
        [ask(1, 10, 50), buy(2, 4, 50), buy(3, 6, 50), buy(4, 2, 50)], [(1, 2, 50, 4), (1, 3, 50, 6)]
    ),
    "an order that was taken in part stays first for the next taker": Case(
        [*(bid(n, 4, 50) for n in range(1, 5)), sell(5, 6, 50), sell(6, 6, 50)],
        [(1, 5, 50, 4), (2, 5, 50, 2), (2, 6, 50, 2), (3, 6, 50, 4)],
        bids=[(50, 4)],
    ),
    "a taker that the first maker fills leaves the second": Case(
        [ask(1, 2, 50), ask(2, 2, 50), buy(3, 2, 50)], [(1, 3, 50, 2)], asks=[(50, 2)]
    ),
    "a high price is not cut": Case([ask(1, 1, 10**18), buy(2, 1, 10**18)], [(1, 2, 10**18, 1)]),
    "a sweep takes five thousand orders in turn": Case(
        [*(ask(n, 1, 50) for n in range(1, 5_001)), buy(5_001, 5_000, 50)],
        [(n, 5_001, 50, 1) for n in range(1, 5_001)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_edge_case_gives_its_trades_its_refusals_and_its_book(name: str) -> None:
    case, replay, plain = CASES[name], Replay(), PlainBook()
    for sequence, message in enumerate(case.messages):
        replay.take(message._replace(sequence=sequence))
        for command in replay.commands:
            plain.carry_out(command)
        assert replay.book.fingerprint() == plain.fingerprint(), (
            "after each message the book is that of a plain search"
        )
    rows = [[int(figure) for figure in line.split(",")] for line in replay.lines().split("\n")]
    traded = [
        (maker, taker, price, qty) for kind, _, price, qty, maker, taker in (r for r in rows if r[0] == TRADE)
    ]
    assert traded == list(case.trades)
    assert [row[2] for row in rows if row[0] in {CANCEL_REJECT, MODIFY_REJECT}] == list(case.refused)
    sides = [
        [(price, qty) for price, qty, _ in half.depth(9)] for half in (replay.book.buys, replay.book.sells)
    ]
    assert sides == [list(case.bids), list(case.asks)]


@pytest.mark.parametrize(
    ("workload", "trades", "reports_sha256"),
    [
        ("normal", 119, "f9d8d40c9d8d9004ef7295df7679e6b1a9c61d2515c5bf9f56e26a8420794f59"),
        ("flash-crash", 147, "32b0d5176e90c128db1649213a866d037f73754920d9be78659c3c25e82761d3"),
    ],
)
def test_the_first_messages_of_a_public_workload_give_the_reports_of_the_consensus(
    workload: str, trades: int, reports_sha256: str
) -> None:
    file = gzip.decompress((WORKLOADS / f"matching_{workload}_4000.bin.gz").read_bytes())
    replay = replayed_file(file)
    assert sum(kind == TRADE for _, kind, _ in replay.reports) == trades
    assert replay.digest() == reports_sha256
