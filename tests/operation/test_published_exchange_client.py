"""The exchange client of the protocol's published client, as it is, against a served registry on plain http."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from theprotocol.exchange import ExchangeClient

from tests.exchange import Market, market
from tests.registry import StartRegistry, TestAgent


@dataclass(frozen=True)
class Served:
    """The exchange of a registry on a socket, and the published client of it."""

    market: Market
    client: ExchangeClient

    async def agents(self, count: int) -> list[TestAgent]:
        return [await self.market.registry.agent() for _ in range(count)]


@pytest.fixture
async def served(start_registry: StartRegistry) -> AsyncIterator[Served]:
    registry = await start_registry(exchange_enabled=True)
    async with registry.listening() as address:
        client = ExchangeClient(f"http://{address}")
        yield Served(await market(registry), client)
        await client.aclose()


def members(answer: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(answer[name] for name in names)


async def test_the_published_client_subscribes_to_a_launch_and_trades(served: Served):
    client = served.client
    seller, buyer = await served.agents(2)
    assert await client.listings() == []
    listing = await served.market.launching()
    ref = listing["ref"]
    assert (await client.listing(ref))["status"] == "LAUNCHING"
    assert client.base.endswith("/api/v1/agora")
    bought = await client.launch_buy(seller.token, ref, 20)
    assert members(bought, "status", "qty", "escrow_amount") == ("subscribed", 20, "40")
    with (
        pytest.warns(DeprecationWarning, match="launch_buy"),
        pytest.raises(httpx.HTTPStatusError) as refused,
    ):
        await client.ipo_buy(seller.token, ref, 20)
    assert refused.value.response.status_code == 409
    await served.market.elapse(listing, 1)
    assert [members(one, "ref", "status") for one in await client.listings()] == [(ref, "TRADING")]

    ask = await client.place_order(
        seller.token, ref, "sell", 8, price="3", client_order_id="ask-1", ttl_seconds=3600
    )
    assert members(ask, "status", "remaining", "escrow_amount", "fills") == ("open", 8, "0", [])
    again = await client.place_order(
        seller.token, ref, "sell", 8, price="3", client_order_id="ask-1", ttl_seconds=3600
    )
    assert again["order_id"] == ask["order_id"]
    bid = await client.place_order(buyer.token, ref, "buy", 4, price="2.5")
    assert members(bid, "status", "escrow_amount") == ("open", "10")
    book = await client.book(ref, depth=1)
    assert (book["bids"], book["asks"]) == ([["2.5", 4, 1]], [["3", 8, 1]])
    taken = await client.place_order(buyer.token, ref, "buy", 3)
    assert members(taken, "status", "remaining") == ("filled", 0)
    assert members(taken["fills"][0], "price", "qty", "fee") == ("3", 3, "0")

    assert [members(one, "price", "qty") for one in await client.trades(ref)] == [("3", 3)]
    (candle,) = await client.candles(ref, tf="1d")
    assert members(candle, "open", "high", "low", "close", "volume", "trades") == ("3", "3", "3", "3", 3, 1)
    mine = await client.my_orders(buyer.token, ref)
    assert [one["order_id"] for one in mine] == [taken["order_id"], bid["order_id"]]
    assert len(await client.my_orders(seller.token)) == 1
    portfolio = await client.portfolio(buyer.token)
    assert members(portfolio["holdings"][0], "ref", "qty", "locked") == (ref, 3, 0)
    assert portfolio["escrow"] == "10"
    cancelled = await client.cancel_order(buyer.token, bid["order_id"])
    assert members(cancelled, "status", "escrow_amount") == ("cancelled", "0")


async def test_refusals_of_the_published_client_are_those_of_the_exchange_and_never_an_older_path(
    served: Served,
):
    client = served.client
    (agent,) = await served.agents(1)

    async def status_of(call: Any) -> int:
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await call
        return refused.value.response.status_code

    assert await status_of(client.listing("NONE")) == 404
    assert await status_of(client.book("NONE")) == 404
    assert await status_of(client.place_order(agent.token, "NONE", "buy", 1, price="2")) == 404
    assert await status_of(client.place_order("no token", "NONE", "buy", 1, price="2")) == 401
    assert await status_of(client.launch_buy(agent.token, "NONE", 1)) == 404
    assert await status_of(client.place_order(agent.token, "NONE", "buy", 1, "2", "market")) == 422
    assert client.base.endswith("/api/v1/agora")


async def test_where_the_exchange_is_off_the_published_client_finds_no_listings(
    start_registry: StartRegistry,
):
    registry = await start_registry()
    agent = await registry.agent()
    async with registry.listening() as address:
        client = ExchangeClient(f"http://{address}")
        assert await client.listings() == []
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await client.launch_buy(agent.token, "NONE", 1)
        assert refused.value.response.status_code == 403
        await client.aclose()
