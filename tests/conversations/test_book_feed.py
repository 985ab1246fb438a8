"""Changes of the book on the live feed (specification 7 AA, "seq has no gap per listing"), over real sockets."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.exchange import Market, market
from tests.founded import open_copy
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.journal.feed.feed_client import Listener, all_sent, open_listener
from tests.trading import Floor, floor


@dataclass(frozen=True)
class Place:
    """An exchange on a socket."""

    market: Market
    address: str


@pytest.fixture(scope="module")
async def place(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Place]:
    directory = tmp_path_factory.mktemp("books")
    async with (
        open_copy(
            database_farm,
            directory,
            rate_limit_reads="off",
            exchange_enabled=True,
            genesis_grants_per_hour=1000,
        ) as registry,
        registry.listening() as address,
    ):
        yield Place(await market(registry), address)


@pytest.fixture
async def at(place: Place) -> Floor:
    return await floor(place.market)


async def changes(at: Floor, heard: Listener) -> list[dict[str, Any]]:
    """The changes of the book that were sent until now, by their numbers."""
    await all_sent(at.market.registry)
    await heard.say(action="ping")
    found = []
    while (message := await heard.hear())["type"] != "pong":
        if message["type"] == "event" and message["event"]["event_type"] == "BookChanged":
            found.append(message["event"]["data"])
    return sorted(found, key=lambda change: change["seq"])


def folded(book: dict[str, Any], changed: list[dict[str, Any]]) -> tuple[list[Any], list[Any], int]:
    """The book after these changes. Each begins where the last one ended."""
    levels = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for side, name in (("buy", "bids"), ("sell", "asks")):
        for price, qty, orders in book[name]:
            levels[0][side, price], levels[1][side, price] = qty, orders
    seq = book["seq"]
    for change in changed:
        if change["seq"] <= book["seq"]:
            continue
        assert change["after"] == seq
        for level in change["changes"]:
            levels[0][level["side"], level["price"]] += level["qty"]
            levels[1][level["side"], level["price"]] += level["orders"]
        seq = change["seq"]

    def side_of(side: str, sign: int) -> list[Any]:
        found = [
            [price, qty, levels[1][side, price]]
            for (of, price), qty in levels[0].items()
            if of == side and qty
        ]
        return sorted(found, key=lambda level: sign * float(level[0]))

    return side_of("buy", -1), side_of("sell", 1), seq


async def test_a_book_and_its_changes_are_the_book_after_every_kind_of_act(at: Floor, place: Place):
    seller, buyer, other = await at.parties(3)
    await at.order(seller, "sell", 2, "4")
    async with open_listener(place.address) as heard:
        assert await heard.subscribe(f"listing:{at.ref}") == []
        before = await at.public("book", depth=200)
        bid = await at.order(buyer, "buy", 4, "3")
        assert (await at.cancel(buyer, bid)).status_code == 200
        bid = await at.order(buyer, "buy", 5, "3")
        await at.order(seller, "sell", 2, "2.5")
        bid = await at.order(buyer, "buy", 2, "3.5", replaces=bid["order_id"])
        await at.order(buyer, "buy", 3, "4", time_in_force="ioc")
        await at.order(other, "buy", 1, "2", ttl_seconds=60)
        await at.order(other, "buy", 1, "2")
        await at.pass_time(61)
        await at.order(seller, "sell", 1, "9")
        given_up = {"to": None, "ref": at.ref, "qty": 1}
        assert (await at.market.post(seller, "/agora/points/transfer", given_up)).status_code == 200
        await at.order(seller, "sell", 1, "8", post_only=True)
        await at.suspend(other)
        await at.follow()
        heard_changes = await changes(at, heard)
        after = await at.public("book", depth=200)
    assert folded(before, heard_changes) == (after["bids"], after["asks"], after["seq"])
    assert len(heard_changes) > 10


async def test_changes_have_no_gap_when_orders_come_together(at: Floor, place: Place):
    seller, *buyers = await at.parties(4)
    async with open_listener(place.address) as heard:
        await heard.subscribe(f"listing:{at.ref}")
        before = await at.public("book", depth=200)

        async def act(agent: TestAgent, number: int) -> None:
            order = await at.order(agent, "buy", 1 + number % 3, f"{1 + number % 4}")
            if number % 2 and order["status"] == "open":
                assert (await at.cancel(agent, order)).status_code in {200, 409}

        acts = [act(buyer, number) for number in range(4) for buyer in buyers]
        sells = [at.order(seller, "sell", 1, "2") for _ in range(6)]
        await asyncio.gather(*acts, *sells)
        heard_changes = await changes(at, heard)
        after = await at.public("book", depth=200)
    assert folded(before, heard_changes) == (after["bids"], after["asks"], after["seq"])


async def test_a_channel_has_the_public_events_of_its_listing_alone_and_no_order(at: Floor, place: Place):
    another = await floor(place.market)
    seller, buyer = await at.parties(2)
    async with open_listener(place.address) as heard:
        await heard.subscribe(f"listing:{at.ref}")
        await another.order(another.agents[0], "sell", 1, "3")
        await at.order(seller, "sell", 1, "3")
        await at.order(buyer, "buy", 1, "3")
        await at.market.decide(at.listing, "halt")
        await all_sent(at.market.registry)
        await heard.say(action="ping")
        events = []
        while (message := await heard.hear())["type"] != "pong":
            events.append(message["event"])
    kinds = Counter(event["event_type"] for event in events)
    assert kinds == {"BookChanged": 2, "TradeExecuted": 1, "PointsMoved": 1, "ListingHalted": 1}
    assert {event["data"]["ref"] for event in events} == {at.ref}
    for event in events:
        if event["event_type"] == "BookChanged":
            assert seller.did not in str(event)
            assert buyer.did not in str(event)


async def test_a_channel_of_no_reference_is_unknown(place: Place):
    async with open_listener(place.address) as heard:
        for name in ("listing:", "listing:a", "listing:TOOLONGER", "listing:R 1"):
            refused = await heard.ask(action="subscribe", channel=name)
            assert (refused["type"], refused["code"]) == ("error", "CHANNEL_UNKNOWN")
