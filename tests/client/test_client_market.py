"""The exchange by the client, and as its user types it: listings, launches, orders and the market."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from hansa_client import DeveloperTokens
from hansa_client.errors import Conflict, Forbidden, Invalid, NotFound
from hansa_client.records.market import ListingChanges, ListingTerms, Prospectus
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.terminal import Typed, logged_in
from tests.client.test_client_contracts import credentials_of
from tests.exchange import Market, in_days, market, terms
from tests.registry import PASSWORD, StartRegistry, TestDeveloper, TestRegistry
from tests.revenue import earning


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    """A registry whose exchange is on."""
    return await start_registry(exchange_enabled=True)


@pytest.fixture
async def exchange(registry: TestRegistry) -> Market:
    return await market(registry)


def tokens_of(developer: TestDeveloper) -> DeveloperTokens:
    return DeveloperTokens(developer.token, "", datetime.now(UTC) + timedelta(hours=1))


def offer(**more: object) -> ListingTerms:
    """1,000 points at 2 units, in a launch of tomorrow."""
    stated = {
        "ref": "ATEL",
        "total": 1000,
        "price": Decimal(2),
        "min_raise": Decimal(10),
        "opens_at": datetime.fromisoformat(in_days(1)),
        "closes_at": datetime.fromisoformat(in_days(2)),
        "per_owner_max": 500,
        "revenue_bps": 1000,
        "term_months": 12,
        "tick": Decimal("0.01"),
        "prospectus": Prospectus(url="https://guild.example/prospectus.pdf", sha256="ab" * 32),
    }
    return ListingTerms(**{**stated, **more})


async def test_a_listing_is_drafted_reviewed_and_decided(connect: Open, exchange: Market, faults: Faults):
    guild = await exchange.guild()
    owner, anyone = connect(developer=tokens_of(guild.owner)), connect()
    faults.next("/api/v1/agora/listings", "answer lost")
    drafted = await owner.listings.draft(guild.slug, offer())
    assert len(set(faults.keys("/api/v1/agora/listings"))) == 1
    assert (drafted.ref, drafted.status, drafted.price) == ("ATEL", "DRAFT", Decimal(2))
    assert drafted.organization.slug == guild.slug
    with pytest.raises(NotFound):
        await anyone.agent.market.listing("ATEL")
    changes = ListingChanges(price=Decimal("2.5"), total=600)
    changed = await owner.listings.change("ATEL", changes)
    assert (changed.price, changed.total, changed.tick) == (Decimal("2.5"), 600, Decimal("0.01"))
    assert (await owner.listings.read("ATEL")) == changed
    with pytest.raises(Invalid):
        await owner.listings.change("ATEL", ListingChanges(price=Decimal("2.501")))
    assert (await owner.listings.submit("ATEL")).status == "EXECUTED"
    assert (await owner.listings.withdraw("ATEL")).status == "DRAFT"
    await owner.listings.submit("ATEL")
    platform = connect(developer=tokens_of(exchange.platform))
    assert [one.ref for one in (await platform.listings.list()).listings] == ["ATEL"]
    with pytest.raises(Forbidden):
        await owner.listings.decide("ATEL", "approve", "It is mine.")
    assert (await platform.listings.decide("ATEL", "reject", "No prospectus.")).reason == "No prospectus."
    await owner.listings.submit("ATEL")
    approved = await platform.listings.decide("ATEL", "approve", "It is sound.")
    assert (approved.status, approved.fee_bps) == ("APPROVED", 50)
    assert (await anyone.agent.market.listings()).listings == [approved]
    assert (await platform.listings.decide("ATEL", "delist", "A test.")).status == "DELISTED"


async def test_points_are_subscribed_to_and_traded(connect: Open, exchange: Market, faults: Faults):
    holder, other = await exchange.registry.agent(), await exchange.registry.agent()
    own, another, anyone = (
        connect(agent=credentials_of(holder)),
        connect(agent=credentials_of(other)),
        connect(),
    )
    listing = await exchange.launching()
    ref = listing["ref"]
    path = f"/api/v1/agora/listings/{ref}/launch/buy"
    faults.next(path, "answer lost")
    made = await own.agent.market.subscribe(ref, 20)
    assert (made.status, made.qty, made.escrow_amount) == ("subscribed", 20, Decimal(40))
    assert len(set(faults.keys(path))) == 1
    assert await own.agent.market.subscription(ref) == made
    assert (await own.agent.market.unsubscribe(ref)).status == "cancelled"
    await own.agent.market.subscribe(ref, 20)
    await exchange.elapse(listing, 1)
    assert (await own.agent.market.subscription(ref)).allocated == 20

    faults.next("/api/v1/agora/orders", "answer lost")
    ask = await own.agent.market.order(ref, "sell", 8, "3", client_order_id="first")
    assert (ask.status, ask.remaining, ask.price) == ("open", 8, Decimal(3))
    assert len(set(faults.keys("/api/v1/agora/orders"))) == 1
    assert await own.agent.market.order(ref, "sell", 8, "3", client_order_id="first") == ask
    with pytest.raises(Conflict):
        await another.agent.market.order(ref, "buy", 1, 3, post_only=True)
    bid = await another.agent.market.order(ref, "buy", 4, "2.5", ttl=timedelta(hours=1))
    assert (bid.escrow_amount, bid.time_in_force) == (Decimal(10), "gtc")
    assert bid.expires_at is not None
    book = await anyone.agent.market.book(ref, depth=1)
    assert (book.bids, book.asks) == ([(Decimal("2.5"), 4, 1)], [(Decimal(3), 8, 1)])
    moved = await another.agent.market.order(ref, "buy", 2, "2.4", replaces=bid.order_id)
    assert (await another.agent.market.read_order(bid.order_id)).ended_because == "replaced"
    taken = await another.agent.market.order(ref, "buy", 3)
    assert (taken.status, taken.price, taken.fills[0].price) == ("filled", None, Decimal(3))
    (trade,) = (await anyone.agent.market.trades(ref)).trades
    assert (trade.buyer, trade.seller, trade.qty) == (other.did, holder.did, 3)
    (candle,) = (await anyone.agent.market.candles(ref, "1d", since=trade.at - timedelta(days=2))).candles
    assert (candle.close, candle.volume, candle.trades) == (Decimal(3), 3, 1)
    assert [(one.did, one.qty) for one in (await anyone.agent.market.holders(ref)).holders] == [
        (holder.did, 17),
        (other.did, 3),
    ]
    held = await another.agent.market.portfolio()
    assert (held.holdings[0].qty, held.holdings[0].value, held.escrow) == (3, Decimal(9), Decimal("4.8"))
    page = await another.agent.market.orders(ref=ref, limit=1)
    assert [one.order_id for one in page.orders] == [taken.order_id]
    older = await another.agent.market.orders(ref=ref, status="open", next_page=page.next)
    assert [one.order_id for one in older.orders] == [moved.order_id]
    assert (await another.agent.market.cancel(moved.order_id)).status == "cancelled"
    with pytest.raises(Conflict):
        await another.agent.market.cancel(moved.order_id)
    assert (await own.agent.market.cancel_all(ref)).cancelled == 1
    assert (await anyone.agent.market.book(ref)).asks == []


async def test_distributions_are_claimed_and_points_move(connect: Open, exchange: Market, faults: Faults):
    at = await earning(exchange)
    other = await at.holder_owner.agent()
    own = connect(agent=credentials_of(at.holder))
    await at.pay(await at.agent(), at.treasury, "4")
    await at.next_day()
    assert [one.owed for one in (await own.agent.market.portfolio()).holdings] == [Decimal("0.008")]
    faults.next("/api/v1/agora/distributions/claim", "answer lost")
    assert (await own.agent.market.claim()).paid == Decimal("0.008")
    assert (await own.agent.market.claim(at.ref)).paid == 0
    moved = await own.agent.market.transfer(at.ref, 5, other.did)
    assert (moved.ref, moved.qty, moved.to) == (at.ref, 5, other.did)
    assert (await own.agent.market.give_up(at.ref, 5)).to is None
    with pytest.raises(Conflict):
        await own.agent.market.give_up(at.ref, 11)
    assert await exchange.points(at.listing) == {at.holder.did: 10, other.did: 5}


async def test_the_exchange_as_its_user_types_it(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: Market
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    await at.run("org", "create", "guild", "--name", "Guild")
    await at.run("org", "change", "guild", "--visibility", "public")
    file = tmp_path / "terms.json"
    file.write_text(json.dumps(terms(ref="GUILD")))
    assert (await at.run("market", "draft", "guild", str(file))).startswith(
        "GUILD  DRAFT  guild  1000 points at 2"
    )
    file.write_text('{"price": "3"}')
    assert "1000 points at 3" in await at.run("market", "change", "GUILD", str(file))
    file.write_text('{"prices": "3"}')
    assert "prices" in await at.run("market", "change", "GUILD", str(file), code=1)
    assert "EXECUTED" in await at.run("market", "submit", "GUILD")
    assert "DRAFT" in await at.run("market", "withdraw", "GUILD")
    await at.run("market", "submit", "GUILD")
    assert "REVIEW" in await at.run("market", "own", "GUILD")
    assert (await at.run("market", "list")).strip() == "No listings."
    assert "administrator" in await at.run(
        "market", "decide", "GUILD", "approve", "--reason", "Mine.", code=1
    )
    assert (await exchange.decide({"ref": "GUILD"}, "approve")).status_code == 200
    assert "10 % of the revenue for 12 months" in await at.run("market", "show", "GUILD")

    await at.run("agent", "create", "--name", "Trader")
    did = (await at.json("agent", "show", "Trader"))["did"]
    listing = await exchange.launching()
    ref = listing["ref"]
    assert "subscribed  6 points" in await at.run("market", "subscribe", ref, "6")
    assert "holds 12" in await at.run("market", "subscription", ref)
    assert "cancelled" in await at.run("market", "unsubscribe", ref)
    await at.run("market", "subscribe", ref, "6")
    await exchange.elapse(listing, 1)
    key = ["--key", "sell-once"]
    sold = await at.json("market", "order", "sell", ref, "3", "--price", "2.5", "--hours", "2", *key)
    again = await at.json("market", "order", "sell", ref, "3", "--price", "2.5", "--hours", "2", *key)
    assert sold == again
    assert "sell  2.5  3 points  1 orders" in await at.run("market", "book", ref)
    assert f"{ref}  6 points, 3 offered" in await at.run("market", "portfolio")
    assert f"6  {did}" in await at.run("market", "holders", ref)
    assert "No trades." in await at.run("market", "trades", ref)
    assert "No trades." in await at.run("market", "candles", ref, "--span", "1d", "--since", "2026-01-01")
    assert sold["order_id"] in await at.run("market", "orders", "--ref", ref, "--status", "open")
    assert "3 left" in await at.run("market", "show-order", sold["order_id"])
    assert "ended: cancelled" in await at.run("market", "cancel", sold["order_id"])
    await at.run("market", "order", "sell", ref, "1", "--price", "9")
    assert "1 orders cancelled" in await at.run("market", "cancel-all", ref)
    assert "points" in await at.run("market", "order", "sell", ref, "7", "--price", "9", code=1)
    assert "paid 0" in await at.run("market", "claim", ref)
    assert f"2 points of {ref} given up" in await at.run("market", "give-up", ref, "2")
    assert "owner" in await at.run("market", "transfer", ref, "1", "did:hansa:nobody", code=1)
