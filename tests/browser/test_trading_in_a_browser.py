"""A launch, orders of two owners and their trade, in real browsers on a telephone of 360 pixels, by day and by night."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect

from hansa.rooms.exchange.cards import make_stock_card
from tests.browser.accessibility import objections
from tests.browser.conftest import OpenPage, Visit
from tests.browser.person import confirm
from tests.doors.served import served
from tests.exchange import Market
from tests.exchange import market as market_of
from tests.registry import PASSWORD, StartRegistry, TestAgent, TestDeveloper, TestRegistry

TELEPHONE = {"width": 360, "height": 740}


@pytest.fixture
async def market(start_registry: StartRegistry) -> AsyncIterator[Market]:
    async with served(start_registry, exchange_enabled=True, genesis_grant_amount="100") as registry:
        yield await market_of(registry)


@pytest.fixture
def registry(market: Market) -> TestRegistry:
    """The registry of the market, which the browser can reach."""
    return market.registry


async def logged_in(visit: OpenPage, person: TestDeveloper) -> Visit:
    opened = await visit(
        "/login", viewport=TELEPHONE, extra_http_headers=person.registry.elsewhere(), color_scheme="light"
    )
    await opened.page.get_by_label("E-mail").fill(person.email)
    await opened.page.get_by_label("Password", exact=True).fill(PASSWORD)
    await opened.page.get_by_role("button", name="Log in").click()
    await expect(opened.page).to_have_url(re.compile(r"/account$"))
    return opened


async def require_good(opened: Visit) -> None:
    """The page is accessible, readable and not wider than the telephone, by day and by night."""
    for scheme in ("light", "dark"):
        await opened.page.emulate_media(color_scheme=scheme)
        assert await objections(opened.page) == []
    assert (opened.strangers, opened.complaints) == ([], [])


async def choose(page: Page, ref: str, link: str, agent: TestAgent) -> None:
    """From the market to the page of the listing for an own agent."""
    await page.goto("/market")
    await page.get_by_role("link", name=ref, exact=True).click()
    await page.get_by_role("link", name=link).click()
    await page.locator("main").get_by_role("link", name="Translator", exact=True).click()
    await expect(page).to_have_url(re.compile(rf"/{re.escape(agent.did)}/market/{ref}$"))


async def order(page: Page, side: str, qty: str, price: str) -> None:
    await page.get_by_label("Side").select_option(side)
    await page.get_by_label("Points", exact=True).fill(qty)
    await page.get_by_label("Price of a point").fill(price)
    await page.get_by_role("button", name="Preview the order").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Confirm the order")


async def hours_ago(tx: Any, ref: str) -> None:
    """Let the trades of the listing be some hours old."""
    await tx.execute("SET LOCAL session_replication_role = replica")
    await tx.execute(
        "UPDATE exchange_trade SET recorded_at = recorded_at - interval '3 hours' WHERE ref = $1", ref
    )


async def test_two_owners_launch_trade_and_see_the_trade_on_a_telephone(
    market: Market, registry: TestRegistry, visit: OpenPage
):
    listing = await market.launching()
    ref = listing["ref"]
    ada, ben = await market.registry.developer(), await market.registry.developer()
    holder, buyer = await ada.agent(), await ben.agent()
    sells, buys = await logged_in(visit, ada), await logged_in(visit, ben)
    page = sells.page
    await choose(page, ref, "Subscribe with an own agent", holder)
    await require_good(sells)
    await page.get_by_label("Points").fill("20")
    await confirm(page, "Subscribe", "Hold the price and subscribe")
    await expect(page.get_by_role("status")).to_have_text("The agent has subscribed.")
    await require_good(sells)
    await market.elapse(listing, 1)
    await choose(page, ref, "Trade with an own agent", holder)
    await order(page, "sell", "5", "2,5")
    await expect(page.get_by_text("Held for it")).to_be_visible()
    await require_good(sells)
    await page.get_by_role("button", name="Sell 5 points").click()
    await expect(page.get_by_role("status")).to_have_text("The order is placed.")
    await require_good(sells)
    await choose(buys.page, ref, "Trade with an own agent", buyer)
    await order(buys.page, "buy", "2", "2.5")
    await expect(buys.page.get_by_text("2 points for 5 AVT")).to_be_visible()
    await require_good(buys)
    await buys.page.get_by_role("button", name="Buy 2 points").click()
    await expect(buys.page.get_by_role("status")).to_have_text("The order is placed.")
    anyone = await visit(f"/market/{ref}", viewport=TELEPHONE, color_scheme="light")
    trades = anyone.page.get_by_role("region", name="Newest trades")
    await expect(trades.locator("tbody tr")).to_have_count(1)
    await expect(trades.locator("tbody tr")).to_contain_text("2.5")
    picture = anyone.page.locator('figure[data-plot="candles"]')
    await expect(picture.locator("svg")).to_be_visible()
    await require_good(anyone)
    await registry.database.transaction(lambda tx: hours_ago(tx, ref))
    again = {"listing": ref, "side": "buy", "qty": 1, "order_type": "market"}
    assert (await market.post(buyer, "/agora/orders", again)).status_code == 201
    await anyone.page.goto(f"/market/{ref}")
    await expect(trades.locator("tbody tr")).to_have_count(2)
    # Two candles are drawn anew, with the value below the cursor.
    await expect(picture.locator("canvas")).to_be_visible()
    await require_good(anyone)
    await anyone.page.goto("/market")
    await expect(anyone.page.get_by_role("region", name="Listings")).to_contain_text("+25.00 %")
    await require_good(anyone)
    await page.goto(f"/account/agents/{holder.did}/market/{ref}")
    await confirm(page, "Cancel", "Cancel the order")
    await expect(page.get_by_role("status")).to_have_text("Cancelled; what was held is free.")
    await page.goto(f"/account/agents/{holder.did}/market")
    await require_good(sells)


async def test_an_owner_moves_points_and_everybody_reads_the_cards_on_a_telephone(
    market: Market, registry: TestRegistry, visit: OpenPage
):
    listing = await market.launching()
    ref = listing["ref"]
    ada = await registry.developer()
    holder, sibling = await ada.agent(), await ada.agent(name="Sibling")
    assert (await market.buy(holder, listing, 20)).status_code == 201
    await market.elapse(listing, 1)
    await registry.database.transaction(lambda tx: make_stock_card(tx, registry.runtime))
    moves = await logged_in(visit, ada)
    page = moves.page
    await page.goto(f"/account/agents/{holder.did}/market/{ref}")
    await page.get_by_role("link", name="Transfer points or give them up").click()
    await page.get_by_label("Receiver").select_option(label="Sibling")
    await page.get_by_label("Points to transfer").fill("5")
    await require_good(moves)
    await confirm(page, "Transfer", "Transfer the points")
    await expect(page.get_by_role("status")).to_have_text("The points are transferred.")
    await page.get_by_label("Points to give up").fill("2")
    await page.locator("summary").get_by_text("Give up…").click()
    await page.get_by_label(f"Type {ref} to confirm").fill(ref)
    await require_good(moves)
    await page.get_by_role("button", name="Give the points up for good").click()
    await expect(page.get_by_role("status")).to_have_text("The points are given up.")
    await expect(page.get_by_text("Points held")).to_be_visible()
    assert await market.points(listing) == {holder.did: 13, sibling.did: 5}
    anyone = await visit("/market", viewport=TELEPHONE, color_scheme="light")
    await anyone.page.get_by_role("link", name="Stock card", exact=True).click()
    await expect(anyone.page.get_by_role("region", name="Listings and closes")).to_contain_text(ref)
    await require_good(anyone)
    await anyone.page.get_by_role("link", name="stock cards of other registries").click()
    await expect(anyone.page.get_by_text("No peer has a verified stock card.")).to_be_visible()
    await require_good(anyone)
    await anyone.page.goto(f"/market/{ref}/holders")
    await expect(anyone.page.get_by_role("region", name="Holders").locator("tbody tr")).to_have_count(2)
    await require_good(anyone)
