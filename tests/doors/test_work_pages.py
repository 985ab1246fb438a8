"""Pages of work orders over HTTP: the board, an order offered, bids of own agents, bids compared, the award and the cancellation."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest

from tests.browsing import BrowserOf, Forms, browser_of
from tests.registry import TestAgent, TestDeveloper, TestRegistry
from tests.work_orders import Offering, offering

LIST = "/account/organizations"


@pytest.fixture(scope="module")
async def registry(shared_registry: TestRegistry) -> TestRegistry:
    return shared_registry


@pytest.fixture
async def offers(registry: TestRegistry) -> Offering:
    return await offering(registry)


@pytest.fixture
async def owner(registry: TestRegistry, offers: Offering) -> BrowserOf:
    return await browser_of(registry, offers.guild.owner)


@pytest.fixture
async def stranger(registry: TestRegistry) -> tuple[TestDeveloper, TestAgent]:
    developer = await registry.developer()
    return developer, await developer.agent(name="Night translator")


def work_of(offers: Offering) -> str:
    return f"{LIST}/{offers.guild.slug}/work"


def words_of(browser: BrowserOf) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", browser.text)).split())


def soon(days: int = 3) -> str:
    """A moment as a field of a browser has it."""
    return f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT%H:%M}"


ORDER = {
    "title": "Translate the manual",
    "spec": "Forty pages of German.",
    "acceptance_criteria": "No page is missing.",
    "amount": "12,5",
    "skills": "translation, german",
    "submit_days": "7",
    "review_days": "3",
}


async def test_an_admin_offers_work_once_and_its_reward_is_held(owner: BrowserOf, offers: Offering):
    await owner.open(f"{work_of(offers)}/new")
    kept = [pair for pair in owner.form(work_of(offers)).fields if pair[0] == "form_key"]
    for _ in range(2):
        await owner.post(
            work_of(offers),
            kept,
            **ORDER,
            bids_until=soon(),
            milestone_title=["Draft", "Rest", ""],
            milestone_amount=["2,5", "10", ""],
        )
        assert "The work is offered, and its reward is held." in owner.text, owner.text
    assert (await offers.held())[0] < "38"
    await owner.open(work_of(offers))
    assert words_of(owner).count("Translate the manual") == 1
    anybody = BrowserOf(owner.registry)
    await anybody.open("/work?skill=german&q=manual")
    words = words_of(anybody)
    assert "Translate the manual" in words
    assert "12.5" in words
    assert "2 days" in words
    (address,) = set(re.findall(r'href="(/work/[0-9a-f-]{36})"', anybody.text))
    await anybody.open(address)
    words = words_of(anybody)
    assert "Forty pages of German." in words
    assert "Draft : 2.5 AVT" in words
    assert "12.5 AVT , held with its fee" in words


async def test_an_order_with_faults_is_refused_beside_its_fields(owner: BrowserOf, offers: Offering):
    await owner.open(f"{work_of(offers)}/new")
    answer = await owner.send(work_of(offers), **{**ORDER, "amount": "much"}, bids_until=soon())
    assert answer.status_code == 422
    assert 'id="amount-trouble"' in answer.text
    assert "Forty pages of German." in answer.text
    await owner.open(f"{work_of(offers)}/new")
    answer = await owner.send(work_of(offers), **{**ORDER, "amount": "5000"}, bids_until=soon())
    assert answer.status_code == 402
    await owner.open(f"{work_of(offers)}/new")
    answer = await owner.send(
        work_of(offers), **ORDER, bids_until=soon(), milestone_title=["Draft"], milestone_amount=["1"]
    )
    assert "sum to 1" in answer.text


async def test_the_owner_of_an_agent_bids_and_withdraws(
    registry: TestRegistry, offers: Offering, stranger: tuple[TestDeveloper, TestAgent]
):
    order, (developer, agent) = await offers.open(), stranger
    browser = await browser_of(registry, developer)
    await browser.open(f"/account/bid/{order['id']}")
    page = f"/account/agents/{agent.did}/work/{order['id']}"
    assert page in browser.text
    await browser.open(page)
    answer = await browser.send(page, price="11", days="2", pitch="Gladly.")
    assert answer.status_code == 422
    assert 'id="price-trouble"' in answer.text
    fields = browser.form(page).fields
    kept = [pair for pair in fields if pair[0] not in {"price", "form_key"}]
    await browser.open(page)
    key = [pair for pair in browser.form(page).fields if pair[0] == "form_key"]
    for _ in range(2):
        await browser.post(page, [*kept, *key], price="7,5")
        assert "The bid counts." in browser.text
    (bid,) = await offers.bids(offers.guild.owner, order)
    assert (bid["price"], bid["eta_seconds"], bid["pitch"]) == ("7.5", 2 * 86_400, "Gladly.")
    fields = browser.form(f"{page}/withdraw").fields
    for _ in range(2):
        await browser.post(f"{page}/withdraw", fields)
        assert "The bid is withdrawn." in browser.text
    assert (await offers.bids(offers.guild.owner, order))[0]["status"] == "withdrawn"


async def test_a_member_does_not_bid_on_work_of_the_own_organization(
    registry: TestRegistry, offers: Offering
):
    order, member = await offers.open(), await offers.guild.member()
    agent = await member.agent()
    browser = await browser_of(registry, member)
    page = f"/account/agents/{agent.did}/work/{order['id']}"
    await browser.open(page)
    answer = await browser.send(page, price="5", days="2")
    assert answer.status_code == 403


async def test_bids_stand_beside_each_other_the_cheapest_first_and_one_wins(
    registry: TestRegistry, owner: BrowserOf, offers: Offering, stranger: tuple[TestDeveloper, TestAgent]
):
    order, (_, cheap) = await offers.open(), stranger
    dear = await registry.agent(name="Daylight translator")
    await offers.bid(dear, order, "9")
    await offers.bid(cheap, order, "6", eta_seconds=3 * 86_400)
    page = f"{work_of(offers)}/{order['id']}"
    await owner.open(page)
    words = words_of(owner)
    assert words.index("Night translator") < words.index("Daylight translator")
    assert "6 lowest" in words
    assert "Award for 6 AVT" in words
    fields = next(form for form in forms_to(owner, f"{page}/award"))
    for _ in range(2):
        await owner.post(f"{page}/award", fields)
        assert "The work is awarded" in owner.text
    assert "Won" in words_of(owner)
    assert "Lost" in words_of(owner)
    read = await offers.read(order)
    assert (read["status"], read["contract_status"]) == ("AWARDED", "ACCEPTED")
    contract = f"{LIST}/{offers.guild.slug}/contracts/{read['contract_id']}"
    assert contract in owner.text
    assert (await owner.open(contract)).status_code == 200


def forms_to(browser: BrowserOf, action: str) -> list[list[tuple[str, str]]]:
    """The fields of every form of the page to this address."""
    return [form.fields for form in Forms(browser.text).found if form.action == action]


async def test_an_award_over_an_amount_asks_the_other_owner(
    registry: TestRegistry, owner: BrowserOf, offers: Offering, stranger: tuple[TestDeveloper, TestAgent]
):
    second = await offers.guild.member("owner")
    tiers = [{"over": "5", "approvals": 1, "from": "owner"}]
    await offers.guild.send(offers.guild.owner, "PUT", "/treasury/rules", json={"tiers": tiers})
    order, (_, agent) = await offers.open(), stranger
    await offers.bid(agent, order, "8")
    page = f"{work_of(offers)}/{order['id']}"
    await owner.open(page)
    await owner.send(f"{page}/award")
    assert "Others must approve first" in owner.text
    words = words_of(owner)
    assert "Award work for 8 AVT to" in words
    other = await browser_of(registry, second)
    await other.open("/account/approvals")
    assert "Award work for 8 AVT to" in words_of(other)
    assert (await offers.read(order))["status"] == "OPEN"


async def test_an_open_order_is_cancelled_once(owner: BrowserOf, offers: Offering):
    order = await offers.open()
    page = f"{work_of(offers)}/{order['id']}"
    await owner.open(page)
    fields = owner.form(f"{page}/cancel").fields
    for _ in range(2):
        await owner.post(f"{page}/cancel", fields)
        assert "The work order is cancelled" in owner.text
    assert await offers.held() == ("50", "0")


async def test_members_below_admin_read_and_offer_nothing(registry: TestRegistry, offers: Offering):
    order = await offers.open()
    reader = await browser_of(registry, await offers.guild.member("viewer"))
    for page in (work_of(offers), f"{work_of(offers)}/{order['id']}"):
        assert (await reader.open(page)).status_code == 200
        assert re.findall(r'<form method="post" action="([^"]+)"', reader.text) == ["/logout"]
    assert (await reader.open(f"{work_of(offers)}/new")).status_code == 403
    outsider = await browser_of(registry)
    assert (await outsider.open(f"{work_of(offers)}/{order['id']}")).status_code == 404


async def test_an_order_of_another_organization_is_none_of_this_one(
    registry: TestRegistry, owner: BrowserOf, offers: Offering
):
    other = await offering(registry)
    order = await other.open()
    assert (await owner.open(f"{work_of(offers)}/{order['id']}")).status_code == 404
    assert (await owner.open(f"/work/{order['id']}")).status_code == 200
