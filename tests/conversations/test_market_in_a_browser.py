"""The market in a browser: listings with their terms first, orders and subscriptions of own agents, drafts of admins, decisions of administrators."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest

from hansa.rooms.exchange.cards import make_stock_card
from tests.browsing import BrowserOf, browser_of
from tests.exchange import SHA256, Market, market
from tests.organizations import Organization, found
from tests.registry import StartRegistry
from tests.revenue import earning
from tests.trading import Floor, floor

TERMS = {
    "total": "1000",
    "price": "2",
    "min_raise": "10",
    "per_owner_max": "500",
    "revenue_bps": "1000",
    "term_months": "12",
    "tick": "0,01",
    "prospectus_url": "https://guild.example/prospectus.pdf",
    "prospectus_sha256": SHA256.upper(),
}


@pytest.fixture
async def trading(start_registry: StartRegistry) -> Market:
    return await market(await start_registry(exchange_enabled=True, genesis_grant_amount="100"))


def words(browser: BrowserOf) -> str:
    """The main part of the page as text."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", browser.text.partition("<main")[2])).split())


def dated(days: int) -> str:
    """A moment as a field of a browser has it."""
    return f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT%H:%M}"


async def owner_of(place: Floor, place_of: int = 0) -> tuple[BrowserOf, str]:
    """The owner of an agent of the floor at a browser, and the address of the listing for that agent."""
    agent = place.agents[place_of]
    browser = await browser_of(place.market.registry, place.owners[agent.did])
    return browser, f"/account/agents/{agent.did}/market/{place.ref}"


async def test_the_market_is_empty_or_disabled_and_says_so(trading, start_registry):
    anybody = BrowserOf(trading.registry)
    await anybody.open("/market")
    assert "No organization sells points yet." in words(anybody)
    assert 'href="/market"' in anybody.text
    off = BrowserOf(await start_registry())
    await off.open("/market")
    assert "The exchange of this registry is disabled" in words(off)
    await off.open("/catalogue")
    assert 'href="/market"' not in off.text, "the navigation has the market where the exchange is on"


async def test_a_listing_has_its_terms_before_everything_else_then_price_book_trades_and_holders(trading):
    place = await floor(trading)
    holder, buyer = await place.parties(2)
    await place.order(holder, "sell", 5, "2.50")
    await place.order(buyer, "buy", 2, "2.50")
    await place.order(buyer, "buy", 3, "1.25")
    anybody = BrowserOf(trading.registry)
    await anybody.open("/market")
    assert place.ref in words(anybody)
    assert "+25.00 %" in words(anybody)
    await anybody.open(f"/market/{place.ref}")
    text = words(anybody)
    assert "A point is no vote and no claim on the treasury or the code. It ends worthless" in text
    assert text.index("A point is no vote") < text.index("Last price"), "terms first"
    for shown in ("Last price 2.5 AVT", "1 part in 1 000 of 10 %", "12 months", "Arrears 0 AVT"):
        assert shown.replace(" ", "") in text.replace("\u202f", "").replace(" ", ""), shown
    assert "5 points are bid for" not in anybody.text
    assert "Depth of the book: 3 points are bid for, 3 are offered." in anybody.text
    assert 'data-plot="candles"' in anybody.text
    assert f'href="/account/market/{place.ref}"' in anybody.text
    refreshed = await anybody.open(f"/market/{place.ref}?tf=1d&live=true")
    assert refreshed.headers["refresh"] == "10"


async def test_a_listing_that_is_not_approved_has_no_page(trading):
    listing = await trading.draft(await trading.guild())
    assert (await BrowserOf(trading.registry).open(f"/market/{listing['ref']}")).status_code == 404
    assert (await BrowserOf(trading.registry).open("/market/NONE")).status_code == 404


async def test_an_owner_previews_an_order_and_places_it_and_cancels_it(trading):
    place = await floor(trading)
    browser, page = await owner_of(place)
    await browser.open(page)
    assert "Points held 20" in words(browser)
    fields = {"side": "sell", "order_type": "limit", "time_in_force": "gtc"}
    await browser.send(f"{page}/check", **fields, qty="5", price="2,50")
    assert "Rests in the book 5 points" in words(browser)
    assert (await place.levels()) == ([], []), "a preview places nothing"
    await browser.send(f"{page}/order")
    assert "The order is placed." in browser.text
    assert (await place.levels())[1] == [["2.5", 5, 1]]
    assert "The rest of the order ends, and 5 points become free." in words(browser)
    await browser.send(f"{page}/cancel")
    assert "Cancelled; what was held is free." in browser.text
    assert (await place.levels()) == ([], [])


async def test_an_order_is_changed_from_its_preview_and_all_orders_are_cancelled_at_once(trading):
    place = await floor(trading)
    (holder,) = place.agents
    await place.order(holder, "sell", 5, "2.50")
    await place.order(holder, "sell", 6, "2.60")
    browser, page = await owner_of(place)
    await browser.open(page)
    fields = {"side": "sell", "order_type": "limit", "time_in_force": "gtc"}
    await browser.send(f"{page}/check", **fields, qty="7", price="2,70")
    change = unescape(re.search(r'href="([^"]+)">Change the order', browser.text)[1])
    await browser.open(change)
    assert ("qty", "7") in browser.form(f"{page}/check").fields
    assert "All 2 open orders of this agent" in words(browser)
    kept = [pair for pair in browser.form(f"{page}/cancel").fields if pair[0] == "form_key"]
    await browser.post(f"{page}/cancel", kept, all="true")
    assert "Cancelled; what was held is free." in browser.text
    assert (await place.levels()) == ([], [])


async def test_an_order_that_is_sent_twice_is_placed_once_and_a_second_cancel_is_no_trouble(trading):
    place = await floor(trading)
    browser, page = await owner_of(place)
    await browser.open(page)
    fields = {"side": "sell", "order_type": "limit", "time_in_force": "gtc", "qty": "5", "price": "3"}
    await browser.send(f"{page}/check", **fields)
    form = browser.form(f"{page}/order")
    for _ in range(2):
        sent = await browser.post(f"{page}/order", form.fields)
        assert "The order is placed." in sent.text
    assert (await place.levels())[1] == [["3", 5, 1]]
    cancel = browser.form(f"{page}/cancel")
    await browser.post(f"{page}/cancel", cancel.fields)
    again = await browser.post(f"{page}/cancel", cancel.fields)
    assert "The order has ended already." in again.text


async def test_a_market_order_shows_its_trades_its_cost_and_its_rest_before(trading):
    place = await floor(trading)
    (holder,) = place.agents
    buyer = await place.agent()
    place.agents.append(buyer)
    await place.order(holder, "sell", 3, "2.50")
    browser, page = await owner_of(place, 1)
    await browser.open(page)
    await browser.send(f"{page}/check", side="buy", qty="4", order_type="market")
    text = words(browser)
    assert "Trades at once 3 points for 7.5 AVT" in text
    assert "Ends without a trade 1 point Price" in text
    await browser.send(f"{page}/order")
    assert "The order is placed." in browser.text
    assert await place.points(buyer) == 3
    assert "Points held 3" in words(browser)


async def test_a_seller_sees_its_fee_before(trading):
    place = await floor(trading)
    await place.order(await place.agent(), "buy", 1, "2")
    seller, page = await owner_of(place)
    await seller.open(page)
    fields = {"side": "sell", "qty": "1", "order_type": "limit", "price": "2", "time_in_force": "ioc"}
    await seller.send(f"{page}/check", **fields)
    assert "Fee of 0.5 % 0.01 AVT" in words(seller)
    assert "The agent gets at once 1.99 AVT" in words(seller)


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"qty": "0"}, 422, "qty"),
        ({"qty": "many"}, 422, "qty"),
        ({"side": ""}, 422, "side"),
        ({"price": "2.505"}, 422, "multiple of 0.01"),
        ({"price": ""}, 422, "price"),
        ({"qty": "21"}, 409, "fewer points"),
        ({"side": "buy", "qty": "1000"}, 402, ""),
        ({"order_type": "market", "time_in_force": "fok"}, 422, "A market order is"),
    ],
)
async def test_a_refused_order_says_why_and_places_nothing(trading, given, status, said):
    place = await floor(trading)
    browser, page = await owner_of(place)
    await browser.open(page)
    fields = {"side": "sell", "qty": "5", "order_type": "limit", "price": "2.5", "time_in_force": "gtc"}
    refused = await browser.send(f"{page}/check", **fields | given)
    assert (refused.status_code, 'role="alert"' in browser.text) == (status, True), words(browser)
    assert said in browser.text
    assert (await place.levels()) == ([], [])


async def test_an_order_over_the_limit_of_the_agent_is_approved_by_its_owner_and_then_placed(trading):
    place = await floor(trading)
    (agent,) = place.agents
    owner = place.owners[agent.did]
    policy = {"spend_policy": {"per_day_max": "30", "approval_over": "5"}}
    path = f"/api/v1/agents/{agent.did}/authz"
    put = await trading.registry.http.put(path, json=policy, headers=owner.headers)
    assert put.status_code == 200, put.text
    browser, page = await owner_of(place)
    await browser.open(page)
    fields = {"side": "buy", "qty": "3", "order_type": "limit", "price": "2", "time_in_force": "gtc"}
    await browser.send(f"{page}/check", **fields)
    assert "You are asked to approve it before the order is placed." in words(browser), words(browser)
    await browser.send(f"{page}/order")
    assert "Approve and order: 6 AVT" in words(browser)
    assert (await place.levels()) == ([], [])
    await browser.send(f"{page}/order")
    assert "The order is placed." in browser.text, words(browser)
    assert (await place.levels())[0] == [["2", 3, 1]]


async def test_an_owner_subscribes_to_a_launch_and_cancels(trading):
    listing = await trading.launching()
    owner = await trading.registry.developer()
    agent = await owner.agent()
    browser = await browser_of(trading.registry, owner)
    await browser.open(f"/account/market/{listing['ref']}")
    page = f"/account/agents/{agent.did}/market/{listing['ref']}"
    assert f'href="{page}"' in browser.text
    await browser.open(page)
    assert "2 AVT are held for each point until" in words(browser)
    refused = await browser.send(f"{page}/subscribe", points="501")
    assert (refused.status_code, 'role="alert"' in browser.text) == (409, True)
    refused = await browser.send(f"{page}/subscribe", points="x")
    assert (refused.status_code, 'role="alert"' in browser.text) == (422, True)
    await browser.send(f"{page}/subscribe", points="7")
    assert "The agent has subscribed." in browser.text
    assert await trading.units(agent.did) == ("86", "14")
    await browser.send(f"{page}/unsubscribe")
    assert "The subscription is cancelled; what it held is free." in browser.text
    assert await trading.units(agent.did) == ("100", "0")


async def test_a_subscription_over_the_limit_of_the_agent_is_approved_by_its_owner(trading):
    listing = await trading.launching()
    owner = await trading.registry.developer()
    agent = await owner.agent()
    policy = {"spend_policy": {"per_day_max": "30", "approval_over": "5"}}
    path = f"/api/v1/agents/{agent.did}/authz"
    assert (await trading.registry.http.put(path, json=policy, headers=owner.headers)).status_code == 200
    browser, page = (
        await browser_of(trading.registry, owner),
        f"/account/agents/{agent.did}/market/{listing['ref']}",
    )
    await browser.open(page)
    await browser.send(f"{page}/subscribe", points="7")
    assert "Approve and subscribe: 14 AVT" in words(browser)
    assert await trading.units(agent.did) == ("100", "0")
    await browser.send(f"{page}/subscribe")
    assert "The agent has subscribed." in browser.text
    assert await trading.units(agent.did) == ("86", "14")


async def test_an_agent_shows_its_points_and_its_open_orders(trading):
    place = await floor(trading)
    (holder,) = place.agents
    await place.order(holder, "sell", 5, "2.50")
    browser, page = await owner_of(place)
    await browser.open(page.removesuffix(f"/{place.ref}"))
    text = words(browser)
    assert f"{place.ref} 20 5 40 40" in text
    assert f"{place.ref} Sell 2.5 5 of 5" in text


async def test_a_halted_listing_takes_no_order_in_a_browser_and_lets_orders_be_cancelled(trading):
    place = await floor(trading)
    (holder,) = place.agents
    await place.order(holder, "sell", 5, "2.50")
    await trading.decide(place.listing, "halt")
    browser, page = await owner_of(place)
    await browser.open(page)
    assert f'action="{page}/check"' not in browser.text
    await browser.send(f"{page}/cancel")
    assert "Cancelled; what was held is free." in browser.text


async def test_a_viewer_reads_the_points_of_an_agent_and_has_no_form(trading):
    guild = await found(trading.registry)
    agent = await guild.agent()
    listing = await trading.launching()
    page = f"/account/agents/{agent.did}/market/{listing['ref']}"
    viewer = await browser_of(trading.registry, await guild.member("viewer"))
    assert (await viewer.open(page)).status_code == 200
    assert '<form method="post" action="/account/agents' not in viewer.text
    stranger = await browser_of(trading.registry, await trading.registry.developer())
    assert (await stranger.open(page)).status_code == 404


async def drafted(guild: Organization) -> tuple[BrowserOf, str]:
    """An owner at a browser who has drafted the listing GUILD."""
    browser, page = (
        await browser_of(guild.registry, guild.owner),
        f"/account/organizations/{guild.slug}/listing",
    )
    await browser.open(page)
    await browser.send(page, ref="GUILD", **TERMS, opens_at=dated(1), closes_at=dated(2))
    assert "The draft is saved." in browser.text, words(browser)
    return browser, page


async def test_an_admin_drafts_changes_submits_and_withdraws_a_listing(trading):
    guild = await trading.guild()
    browser, page = await drafted(guild)
    refused = await browser.send(f"{page}/GUILD", price="2.001")
    assert (refused.status_code, "price must be a multiple of tick" in browser.text.lower()) == (422, True)
    await browser.send(f"{page}/GUILD", price="4")
    assert "The terms are changed." in browser.text
    assert "Once they are approved they cannot be changed: 10 % of the revenue" in words(browser)
    await browser.send(f"{page}/GUILD/submit")
    assert "The listing is under review." in browser.text
    assert f'action="{page}/GUILD"' not in browser.text
    await browser.send(f"{page}/GUILD/withdraw")
    assert "The listing is a draft again." in browser.text
    read = await trading.read({"ref": "GUILD"}, guild.owner)
    assert (read["status"], read["price"], read["tick"]) == ("DRAFT", "4", "0.01")


async def test_a_draft_with_a_taken_reference_or_without_terms_is_refused(trading):
    await drafted(await trading.guild())
    other = await trading.guild()
    browser, page = (
        await browser_of(trading.registry, other.owner),
        f"/account/organizations/{other.slug}/listing",
    )
    await browser.open(page)
    refused = await browser.send(page, ref="GUILD", **TERMS, opens_at=dated(1), closes_at=dated(2))
    assert (refused.status_code, "none is used twice" in browser.text) == (409, True)
    refused = await browser.send(page, ref="OTHER", **TERMS | {"total": "many"}, opens_at="", closes_at="")
    assert (refused.status_code, 'role="alert"' in browser.text) == (422, True)


async def test_members_read_the_listing_of_their_organization_and_only_admins_have_its_forms(trading):
    guild = await trading.guild()
    _, page = await drafted(guild)
    member = await browser_of(trading.registry, await guild.member("member"))
    await member.open(page)
    assert "GUILD" in member.text
    assert '<form method="post" action="/account/organizations' not in member.text
    stranger = await browser_of(trading.registry, await trading.registry.developer())
    assert (await stranger.open(page)).status_code == 404


async def test_an_administrator_rejects_approves_and_delists_with_a_reason(trading):
    guild = await trading.guild()
    browser, page = await drafted(guild)
    await browser.send(f"{page}/GUILD/submit")
    office, listing = await browser_of(trading.registry, trading.platform), "/administration/listings/GUILD"
    await office.open("/administration/listings")
    assert f'href="{listing}"' in office.text
    await office.open(listing)
    assert "The terms and the fee in force are final from now on" in words(office)
    refused = await office.send(f"{listing}/reject", reason="  ")
    assert (refused.status_code, 'role="alert"' in office.text) == (422, True)
    late = office.form(f"{listing}/approve")
    await office.send(f"{listing}/reject", reason="No prospectus.")
    assert "The listing is a draft again." in office.text
    kept = [pair for pair in late.fields if pair[0] != "reason"]
    refused = await office.post(f"{listing}/approve", kept, reason="Yes.")
    assert (refused.status_code, 'role="alert"' in refused.text) == (409, True)
    await browser.open(page)
    assert "No prospectus." in words(browser)
    await browser.send(f"{page}/GUILD/submit")
    await office.open(listing)
    await office.send(f"{listing}/approve", reason="Sound.")
    assert "its terms are final" in words(office)
    await office.send(f"{listing}/delist", reason="An error.")
    assert (await trading.read({"ref": "GUILD"}))["status"] == "DELISTED"
    assert "No decision is left." in office.text


async def test_an_administrator_of_enforcement_halts_and_resumes_trade(trading):
    place = await floor(trading)
    browser, page = await browser_of(trading.registry, trading.enforcement), "/administration/trading"
    await browser.open(page)
    refused = await browser.send(f"{page}/{place.ref}/halt", reason=" ")
    assert (refused.status_code, 'role="alert"' in browser.text) == (422, True)
    await browser.send(f"{page}/{place.ref}/halt", reason="A breach.")
    assert "The trade is halted." in browser.text
    anybody = BrowserOf(trading.registry)
    await anybody.open(f"/market/{place.ref}")
    assert "Halted by an administrator: A breach." in words(anybody)
    await browser.send(f"{page}/{place.ref}/resume", reason="Mended.")
    assert (await trading.read(place.listing))["status"] == "TRADING"


async def test_administrators_of_other_areas_open_no_page_of_decisions_on_listings(trading):
    support = await browser_of(trading.registry, await trading.registry.administrator("admin_support"))
    for path in ("/administration/listings", "/administration/trading"):
        assert (await support.open(path)).status_code == 403


async def test_an_order_that_expires_and_only_rests_replaces_an_open_one(trading):
    place = await floor(trading)
    (holder,) = place.agents
    resting = await place.order(holder, "sell", 5, "2.50")
    browser, page = await owner_of(place)
    await browser.open(page)
    await browser.open(unescape(re.search(r'href="([^"]+)" aria-label="Replace', browser.text)[1]))
    form = dict(browser.form(f"{page}/check").fields)
    assert (form["qty"], form["price"], form["replaces"]) == ("5", "2.5", resting["order_id"])
    await browser.send(f"{page}/check", price="2.40", ttl_seconds="86400", post_only="true")
    text = words(browser)
    for said in (
        "It expires after: a day.",
        "refused if it would trade",
        "It replaces an open order, which ends.",
    ):
        assert said in text, text
    await browser.send(f"{page}/order")
    assert "The order is placed." in browser.text
    assert (await place.levels())[1] == [["2.4", 5, 1]]
    (order,) = (await place.mine(holder, status="open"))["orders"]
    row = await place.row(order)
    assert (row["post_only"], (row["expires_at"] - row["created_at"]).days) == (True, 1)
    await browser.open(f"{page}?replaces={resting['order_id']}")
    fields = {"side": "sell", "order_type": "limit", "qty": "5", "price": "2.3", "time_in_force": "gtc"}
    refused = await browser.send(f"{page}/check", **fields)
    assert (refused.status_code, "An order that is not open" in browser.text) == (409, True), words(browser)
    assert (await place.levels())[1] == [["2.4", 5, 1]]


async def test_an_order_that_would_trade_on_arrival_is_refused_where_it_is_only_to_rest(trading):
    place = await floor(trading)
    await place.order(await place.agent(), "buy", 1, "2")
    browser, page = await owner_of(place)
    await browser.open(page)
    fields = {"side": "sell", "qty": "1", "order_type": "limit", "price": "2", "time_in_force": "gtc"}
    refused = await browser.send(f"{page}/check", **fields, post_only="true")
    assert (refused.status_code, 'role="alert"' in browser.text) == (409, True)
    assert 'id="post_only" name="post_only" type="checkbox" value="true" checked' in browser.text


async def test_a_holder_sees_what_it_is_owed_and_claims_it(trading):
    at = await earning(trading)
    await at.pay(await at.agent(), at.treasury, "4")
    await at.next_day()
    browser = await browser_of(trading.registry, at.holder_owner)
    page = f"/account/agents/{at.holder.did}/market"
    await browser.open(f"{page}/{at.ref}")
    assert "Owed of revenue 0.008 AVT" in words(browser)
    await browser.open(page)
    assert "Owed of revenue 0.008 AVT" in words(browser)
    await browser.send(f"{page}/claim")
    assert "What was owed is paid." in browser.text
    assert "Owed of revenue 0 AVT" in words(browser)


async def test_everybody_sees_the_levies_of_a_listing_and_its_organization_its_arrears(trading):
    at = await earning(trading)
    await at.pay(await at.agent(), at.own.did, "50")
    await at.empty()
    await at.next_day()
    anybody = BrowserOf(trading.registry)
    await anybody.open(f"/market/{at.ref}")
    assert "50 0.1 0 0.1" in words(anybody), words(anybody)
    browser = await browser_of(trading.registry, at.guild.owner)
    await browser.open(f"/account/organizations/{at.guild.slug}/listing")
    text = words(browser)
    assert f"Revenue of {at.ref}" in text
    assert "0.1 AVT are in arrears." in text
    assert "50 0.1 0 0.1" in text


async def test_an_owner_transfers_points_to_another_of_its_agents(trading):
    at = await earning(trading)
    other = await at.holder_owner.agent(name="Sibling")
    browser = await browser_of(trading.registry, at.holder_owner)
    page = f"/account/agents/{at.holder.did}/market/{at.ref}"
    await browser.open(page)
    assert f'href="{page}/points"' in browser.text
    await browser.open(f"{page}/points")
    assert "Points held 20" in words(browser)
    assert "The points and their future share of the revenue go to the receiver at once." in words(browser)
    await browser.send(f"{page}/transfer", to=other.did, points="5")
    assert "The points are transferred." in browser.text
    assert "Points held 15" in words(browser)
    assert await trading.points(at.listing) == {at.holder.did: 15, other.did: 5}
    form = browser.form(f"{page}/transfer")
    for _ in range(2):
        await browser.post(f"{page}/transfer", form.fields, to=other.did, points="1")
    assert await trading.points(at.listing) == {at.holder.did: 14, other.did: 6}, "a form moves points once"


async def test_an_owner_gives_points_up_by_typing_the_reference(trading):
    at = await earning(trading)
    browser = await browser_of(trading.registry, at.holder_owner)
    page = f"/account/agents/{at.holder.did}/market/{at.ref}"
    await browser.open(f"{page}/points")
    assert "Its owner has no other active agent." in words(browser)
    refused = await browser.send(f"{page}/give-up", given_up="5", typed_name="OTHER")
    assert (refused.status_code, "another one was typed" in browser.text) == (422, True)
    assert await trading.points(at.listing) == {at.holder.did: 20}
    await browser.send(f"{page}/give-up", given_up="5", typed_name=at.ref)
    assert "The points are given up." in browser.text
    assert await trading.points(at.listing) == {at.holder.did: 15}


@pytest.mark.parametrize(
    ("points", "to", "status", "said"),
    [
        ("16", "sibling", 409, "fewer points"),
        ("0", "sibling", 422, "greater than or equal to 1"),
        ("many", "sibling", 422, "integer"),
        ("1", "stranger", 403, "no agent of the same owner"),
        ("1", "", 403, "no agent of the same owner"),
        ("1", "itself", 422, "is the agent itself"),
    ],
)
async def test_a_transfer_of_points_that_is_refused_says_why_and_moves_none(
    trading, points, to, status, said
):
    at = await earning(trading)
    order = {"listing": at.ref, "side": "sell", "qty": 5, "order_type": "limit", "price": "3"}
    assert (await trading.post(at.holder, "/agora/orders", order)).status_code == 201
    receivers = {
        "sibling": (await at.holder_owner.agent()).did,
        "stranger": (await at.agent()).did,
        "itself": at.holder.did,
        "": "",
    }
    browser = await browser_of(trading.registry, at.holder_owner)
    page = f"/account/agents/{at.holder.did}/market/{at.ref}"
    await browser.open(f"{page}/points")
    assert "Free to move 15 5 offered" in words(browser)
    refused = await browser.send(f"{page}/transfer", to=receivers[to], points=points)
    assert (refused.status_code, 'role="alert"' in browser.text) == (status, True), words(browser)
    assert said in browser.text, words(browser)
    assert await trading.points(at.listing) == {at.holder.did: 20}


async def test_agents_of_an_organization_are_receivers_of_its_agents_and_viewers_have_no_form(trading):
    guild = await found(trading.registry)
    holder, other = await guild.agent(), await guild.agent()
    place = await floor(trading)
    await trading.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE exchange_holding SET agent_did = $2 WHERE ref = $1", place.ref, holder.did
        )
    )
    listing = place.listing
    page = f"/account/agents/{holder.did}/market/{listing['ref']}"
    browser = await browser_of(trading.registry, guild.owner)
    await browser.open(f"{page}/points")
    assert f'<option value="{other.did}"' in browser.text
    await browser.send(f"{page}/transfer", to=other.did, points="4")
    assert await trading.points(listing) == {holder.did: 16, other.did: 4}
    viewer = await browser_of(trading.registry, await guild.member("viewer"))
    assert (await viewer.open(f"{page}/points")).status_code == 200
    assert '<form method="post" action="/account/agents' not in viewer.text


async def test_everybody_reads_all_holders_of_a_listing(trading):
    place = await floor(trading)
    anybody = BrowserOf(trading.registry)
    await anybody.open(f"/market/{place.ref}/holders")
    assert "1 agent with 20 points that were sold." in words(anybody)
    assert "100.00 %" in words(anybody)
    assert (await anybody.open("/market/NONE/holders")).status_code == 404
    assert (await anybody.open(f"/market/{place.ref}/holders?offset=-1")).status_code == 422


async def test_everybody_reads_the_stock_card_with_its_closes_and_its_digest(trading):
    anybody = BrowserOf(trading.registry)
    await anybody.open("/market")
    assert 'href="/market/stock-card"' in anybody.text
    await anybody.open("/market/stock-card")
    assert "This registry has made no stock card." in words(anybody)
    place = await floor(trading)
    await trading.registry.database.transaction(lambda tx: make_stock_card(tx, trading.registry.runtime))
    await anybody.open("/market/stock-card")
    served = (await trading.registry.get("/agora/stock-card")).json()
    assert served["digest"] in words(anybody)
    assert f"{place.ref} trading 20" in words(anybody).replace("Trading", "trading")


async def test_everybody_reads_that_no_peer_has_a_stock_card(trading):
    anybody = BrowserOf(trading.registry)
    await anybody.open("/market/venues")
    assert "No peer has a verified stock card." in words(anybody)


async def test_while_the_exchange_is_off_an_owner_gives_points_up_from_the_page_that_ends_the_agent(
    start_registry,
):
    at = await earning(await market(await start_registry(exchange_enabled=True, genesis_grant_amount="100")))
    registry = at.market.registry
    object.__setattr__(registry.runtime.settings, "exchange_enabled", False)
    browser = await browser_of(registry, at.holder_owner)
    agent = f"/account/agents/{at.holder.did}"
    await browser.open(f"{agent}/end")
    assert f'href="{agent}/market"' in browser.text
    await browser.open(f"{agent}/market")
    assert f'href="{agent}/market/{at.ref}"' in browser.text
    await browser.open(f"{agent}/market/{at.ref}/points")
    assert f'action="{agent}/market/{at.ref}/transfer"' not in browser.text
    await browser.send(f"{agent}/market/{at.ref}/give-up", given_up="20", typed_name=at.ref)
    assert "The points are given up." in browser.text
    assert await at.market.points(at.listing) == {at.holder.did: 0}
