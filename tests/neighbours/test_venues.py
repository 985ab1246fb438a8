"""Stock cards of peers (specification 7 AA, "Cards"): each counts by the digest that the registry card of its peer signs."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hansa.rooms import federation
from hansa.rooms.exchange.cards import CLOSE_DAYS, MAKE_STOCK_CARD, read_venues
from tests.browsing import BrowserOf
from tests.exchange import Market, market
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm
from tests.running_jobs import run_due, run_scheduled_transactions


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    directory = tmp_path_factory.mktemp("venues")
    async with neighbours(database_farm, directory, b={"exchange_enabled": True}) as pair:
        yield pair


async def sync(one: Neighbour, other: Neighbour) -> None:
    """Read the documents of the other registry, then its stock card."""
    await federation.sync_by_name(one.registry.runtime, None, other.registry.settings.ledger_id)
    await read_venues(one.registry.runtime)


async def venues(one: Neighbour) -> list[dict[str, Any]]:
    answer = await one.registry.get("/agora/federation-tickers")
    assert answer.status_code == 200, answer.text
    return answer.json()["venues"]


async def refused(pair: Neighbours) -> int:
    """Number of stock cards of b that a refused."""
    return (await pair.a.refused(pair.b)).get("stock_card_invalid", 0)


async def made(pair: Neighbours) -> tuple[Market, dict[str, Any]]:
    """The exchange of b, whose stock card has an approved listing, and that listing."""
    exchange = await market(pair.b.registry)
    listing = await exchange.approved()
    await run_due(pair.b.registry.runtime, MAKE_STOCK_CARD)
    return exchange, listing


async def test_a_verified_stock_card_of_a_peer_is_shown_until_the_peer_is_no_peer(pair: Neighbours):
    assert await venues(pair.a) == []
    exchange, listing = await made(pair)
    await sync(pair.a, pair.b)
    (venue,) = await venues(pair.a)
    own = (await pair.b.registry.get("/agora/stock-card")).json()
    shared = ("digest", "listings", "closes", "currency", "date", "market_epoch", "market_freshness")
    assert {name: venue[name] for name in shared} == {name: own[name] for name in shared} | {
        "listings": [{**one, "ends_at": None} for one in own["listings"]]
    }
    assert listing["ref"] in [one["ref"] for one in venue["listings"]]
    assert (venue["ledger_id"], venue["registry_name"]) == ("b.example", "registry-b")
    anybody = BrowserOf(pair.a.registry)
    await anybody.open("/market/venues")
    for said in ("registry-b", venue["digest"], listing["ref"]):
        assert said in anybody.text
    assert f'href="/market/{listing["ref"]}"' not in anybody.text, "points are traded at the peer alone"
    await exchange.decide(listing, "delist")
    await run_due(pair.b.registry.runtime, MAKE_STOCK_CARD)
    await sync(pair.a, pair.b)
    (venue,) = await venues(pair.a)
    assert {one["ref"]: one["status"] for one in venue["listings"]}[listing["ref"]] == "DELISTED"
    assert await refused(pair) == 0


async def test_a_stock_card_that_the_registry_card_does_not_sign_is_refused_and_the_last_one_stays(
    pair: Neighbours,
):
    await made(pair)
    await sync(pair.a, pair.b)
    (before,) = await venues(pair.a)
    await made(pair)
    true = await pair.b.registry.database.read(
        lambda tx: tx.fetchval("SELECT document FROM exchange_stock_card")
    )
    forged = json.dumps(json.loads(true) | {"currency": "XYZ"})
    write = "UPDATE exchange_stock_card SET document = $1"
    await pair.b.registry.database.transaction(lambda tx: tx.execute(write, forged))
    await sync(pair.a, pair.b)
    assert await venues(pair.a) == [before]
    assert await refused(pair) == 1
    await pair.b.registry.database.transaction(lambda tx: tx.execute(write, true))
    await read_venues(pair.a.registry.runtime)
    (after,) = await venues(pair.a)
    assert len(after["listings"]) == len(before["listings"]) + 1


async def test_a_card_that_its_peer_made_meanwhile_waits_for_the_registry_card(pair: Neighbours):
    await made(pair)
    await sync(pair.a, pair.b)
    (before,) = await venues(pair.a)
    await made(pair)
    peer = await pair.a.peer(pair.b)
    await pair.a.registry.database.transaction(
        lambda tx: tx.execute("DELETE FROM exchange_venue WHERE ledger_id = $1", peer.ledger_id)
    )
    counted = await refused(pair)
    await read_venues(pair.a.registry.runtime)
    assert (await venues(pair.a), await refused(pair)) == ([], counted)
    await sync(pair.a, pair.b)
    (after,) = await venues(pair.a)
    assert after["digest"] != before["digest"]


async def test_the_stock_card_of_a_peer_that_is_paused_is_not_shown(pair: Neighbours):
    await run_scheduled_transactions(pair.b.registry.runtime, CLOSE_DAYS)
    await sync(pair.a, pair.b)
    assert len(await venues(pair.a)) == 1
    runtime, name = pair.a.registry.runtime, pair.b.registry.settings.ledger_id
    for act, count in ((federation.pause_peer, 0), (federation.resume_peer, 1)):
        await runtime.database.transaction(lambda tx, act=act: act(tx, None, name))  # type: ignore[misc]
        assert len(await venues(pair.a)) == count
