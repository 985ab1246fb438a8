"""Acts at one listing that come at the same moment share transactions, and each is decided as if it had come alone."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.exchange import Market
from tests.organizations import code
from tests.properties.scale import by_tier, printed_seed
from tests.registry import TestAgent
from tests.trading import Floor, floor

DRAWN = by_tier(40, 200, 1000)


@pytest.fixture
async def at(market_of_file: Market) -> AsyncIterator[Floor]:
    """A listing of which one agent has 20 points. Points and units are sound after each conversation, and the journal replays it."""
    found = await floor(market_of_file)
    yield found
    await found.require_sound()


async def together(*requests: Any) -> list[httpx2.Response]:
    return list(await asyncio.gather(*requests))


async def transactions(at: Floor, event_type: str) -> Counter[Any]:
    """The number of these events of the listing in each transaction."""
    rows = await at.market.registry.database.read(
        lambda tx: tx.fetch(
            "SELECT xid::text AS xid FROM journal_event WHERE event_type = $1 AND data ->> 'ref' = $2",
            event_type,
            at.ref,
        )
    )
    return Counter(row["xid"] for row in rows)


async def test_orders_that_come_together_share_transactions_and_keep_their_numbers(at: Floor):
    seller, buyer = await at.parties(2)
    made = await together(
        *(at.try_order(buyer, "buy", 1, f"2.{number:02}") for number in range(10)),
        *(at.try_order(seller, "sell", 1, f"3.{number:02}") for number in range(10)),
    )
    assert {answer.status_code for answer in made} == {201}
    assert len({answer.json()["seq"] for answer in made}) == 20
    assert len(await transactions(at, "OrderPlaced")) < 20
    bids, asks = await at.levels()
    assert (bids[0], asks[0]) == (["2.09", 1, 1], ["3", 1, 1])
    cancelled = await together(*(at.cancel(buyer, answer.json()) for answer in made[:10]))
    assert {answer.json()["status"] for answer in cancelled} == {"cancelled"}
    assert len(await transactions(at, "OrderEnded")) < 10
    assert await at.units(buyer) == ("100", "0")


async def test_an_order_that_is_refused_leaves_nothing_and_keeps_no_other_from_being_placed(at: Floor):
    seller, buyer = await at.parties(2)
    ask = await at.order(seller, "sell", 2, "3")
    answers = await together(
        at.try_order(buyer, "buy", 1, "2"),
        at.try_order(buyer, "buy", 1000, "2"),
        at.try_order(seller, "sell", 19, "4"),
        at.try_order(seller, "sell", 18, "4"),
        at.try_order(buyer, "buy", 1, "3", post_only=True),
        at.try_order(buyer, "buy", 1, "2.001"),
        at.try_order(buyer, "buy", 2, "2.5", replaces=ask["order_id"]),
        at.cancel(buyer, ask),
        at.try_order(buyer, "buy", 3, "2.1"),
    )
    assert [answer.status_code for answer in answers] == [201, 402, 409, 201, 409, 422, 404, 404, 201]
    assert code(answers[2]) == (409, "INSUFFICIENT_POINTS")
    assert code(answers[4]) == (409, "POST_ONLY")
    assert await at.units(buyer) == ("91.7", "8.3")
    assert sorted(one["qty"] for one in (await at.mine(buyer))["orders"]) == [1, 3]


async def test_units_and_points_are_spent_once_by_orders_that_come_together(at: Floor):
    seller, buyer = await at.parties(2)
    bids = await together(*(at.try_order(buyer, "buy", 10, "3") for _ in range(5)))
    assert sorted(answer.status_code for answer in bids) == [201, 201, 201, 402, 402]
    asks = await together(*(at.try_order(seller, "sell", 8, "9") for _ in range(4)))
    assert sorted(answer.status_code for answer in asks) == [201, 201, 409, 409]
    assert await at.units(buyer) == ("10", "90")


async def test_orders_that_come_together_trade_with_each_other(at: Floor):
    seller, one, other = await at.parties(3)
    made = await together(
        at.try_order(seller, "sell", 4, "3"),
        at.try_order(one, "buy", 2, "3"),
        at.try_order(other, "buy", 6, "3"),
        at.try_order(seller, "sell", 5, "3"),
    )
    assert {answer.status_code for answer in made} == {201}
    assert (await at.points(one), await at.points(other), await at.points(seller)) == (2, 6, 12)
    assert await at.levels() == ([], [["3", 1, 1]])


async def test_one_of_two_orders_with_the_same_name_is_placed_and_both_are_answered_with_it(at: Floor):
    _, buyer = await at.parties(2)
    named = await together(*(at.try_order(buyer, "buy", 1, "2", client_order_id="one") for _ in range(4)))
    assert {answer.status_code for answer in named} == {201}
    assert len({answer.json()["order_id"] for answer in named}) == 1
    keyed = await together(*(at.try_order(buyer, "buy", 1, "2", key="again") for _ in range(4)))
    assert {answer.status_code for answer in keyed} == {201}
    assert len({answer.json()["order_id"] for answer in keyed}) == 1
    other = await together(
        at.try_order(buyer, "buy", 1, "2", client_order_id="two"),
        at.try_order(buyer, "buy", 2, "2", client_order_id="two"),
    )
    assert sorted(answer.status_code for answer in other) == [201, 409]
    assert len((await at.mine(buyer))["orders"]) == 3


async def test_an_order_is_cancelled_once_and_taken_or_cancelled(at: Floor):
    seller, buyer = await at.parties(2)
    ask = await at.order(seller, "sell", 5, "3")
    twice = await together(at.cancel(seller, ask), at.cancel(seller, ask))
    assert sorted(answer.status_code for answer in twice) == [200, 409]
    ask = await at.order(seller, "sell", 5, "3")
    moved, taken, cancelled = await together(
        at.try_order(seller, "sell", 5, "4", replaces=ask["order_id"]),
        at.try_order(buyer, "buy", 2, "3", time_in_force="ioc"),
        at.cancel(seller, ask),
    )
    assert (moved.status_code, cancelled.status_code) in {(201, 409), (409, 200)}
    assert sum(fill["qty"] for fill in taken.json()["fills"]) in {0, 2}


async def test_readings_of_a_book_that_come_together_are_each_answered(at: Floor):
    (seller,) = await at.parties(1)
    for price in ("3", "3.5", "4"):
        await at.order(seller, "sell", 1, price)
    path = f"/agora/listings/{at.ref}/book"
    one, two, all_of_them, unknown, none = await together(
        at.get(path, depth=1),
        at.get(path, depth=2),
        at.get(path),
        at.get("/agora/listings/NONE/book"),
        at.get(path, depth=0),
    )
    prices = [[level[0] for level in answer.json()["asks"]] for answer in (one, two, all_of_them)]
    assert prices == [["3"], ["3", "3.5"], ["3", "3.5", "4"]]
    assert (unknown.status_code, none.status_code) == (404, 422)


async def test_a_governed_buy_is_counted_beside_orders_that_are_not(at: Floor):
    seller, bounded, free = await at.parties(3)
    await at.govern(bounded, per_tx_max="10")
    answers = await together(
        at.try_order(free, "buy", 1, "2"),
        at.try_order(bounded, "buy", 6, "2"),
        at.try_order(bounded, "buy", 4, "2"),
        at.try_order(seller, "sell", 1, "3"),
    )
    assert [answer.status_code for answer in answers] == [201, 403, 201, 201]
    assert await at.spent(bounded) == "8"


async def test_drawn_acts_that_come_together_are_decided_again_by_the_journal(at: Floor):
    draw = random.Random(printed_seed())
    seller, *others = await at.parties(4)
    placed: list[tuple[TestAgent, Any]] = []
    for _ in range(DRAWN // 10):
        requests, who = [], []
        for _ in range(10):
            agent = draw.choice([seller, seller, *others])
            who.append(agent)
            if placed and draw.random() < 0.2:
                who[-1], order = placed.pop(draw.randrange(len(placed)))
                requests.append(at.cancel(who[-1], order))
                continue
            price = draw.choice([None, "2", "2.01", "2.02", "2.03"])
            more: dict[str, Any] = (
                {"time_in_force": draw.choice(["gtc", "gtc", "gtc", "ioc", "fok"])} if price else {}
            )
            mine = [order for owner, order in placed if owner is agent]
            if mine and price and more["time_in_force"] == "gtc" and draw.random() < 0.2:
                more["replaces"] = draw.choice(mine)["order_id"]
            requests.append(
                at.try_order(agent, draw.choice(["buy", "sell"]), draw.randint(1, 4), price, **more)
            )
        for agent, answer in zip(who, await together(*requests), strict=True):
            assert answer.status_code in {200, 201, 402, 409}, answer.text
            if answer.status_code == 201 and answer.json()["ended_because"] is None:
                placed.append((agent, answer.json()))
        await at.require_sound()
