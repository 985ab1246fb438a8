"""Wallets and administration as a person meets them: sizes, colours, accessibility, and the acts themselves."""

import asyncio
from datetime import UTC, datetime, timedelta

from playwright.async_api import Page, expect

from tests.browser.accessibility import objections, violations_of
from tests.browser.person import confirm
from tests.registry import PASSWORD, TestDeveloper, TestRegistry

POINTING_SECONDS = 120
SIZES = {"telephone": {"width": 390, "height": 800}, "desk": {"width": 1280, "height": 900}}


async def logged_in(visit, developer: TestDeveloper, **settings) -> Page:
    """A browser in which the developer is logged in, at the account."""
    page: Page = (await visit("/login", **settings)).page
    await page.get_by_label("E-mail address").fill(developer.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", name="Home")).to_be_visible()
    return page


async def filed(complainant, defendant) -> int:
    """The number of a new dispute."""
    body = {"defendant_did": defendant.did, "reason_code": "OTHER", "description": "Staged"}
    answer = await complainant.registry.post("/disputes/", json=body, headers=complainant.headers)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def test_units_are_sent_after_a_dry_run_with_the_keyboard_alone(registry: TestRegistry, visit):
    developer = await registry.developer()
    agent, payee = await developer.agent(), await registry.agent(name="Receiver")
    page = await logged_in(visit, developer, viewport=SIZES["telephone"])
    await page.goto(f"/account/agents/{agent.did}/wallet/send")
    await page.get_by_label("Receiver", exact=True).focus()
    await page.keyboard.type(payee.did)
    await page.keyboard.press("Tab")
    await page.keyboard.type("ten")
    await page.keyboard.press("Enter")
    error = page.locator("#amount-trouble")
    await expect(error).to_be_visible()
    await expect(page.get_by_label("Amount in AVT")).to_have_attribute("aria-invalid", "true")
    assert await violations_of(page) == []
    await page.get_by_label("Amount in AVT").fill("10")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Confirm the transfer")).to_be_visible()
    await expect(page.get_by_text("Receiver", exact=True).first).to_be_visible()
    assert await violations_of(page) == []
    assert await payee.balance() == "100"
    await page.get_by_role("button", name="Send 10 AVT").dblclick()
    await expect(page.get_by_role("status")).to_have_text("The units were sent.")
    await page.reload()
    # A route turns the cache off. Without it the browser sends the form again, as when a person answers yes to its question.
    await page.route("**", lambda route: route.continue_())
    await page.go_back()
    assert await payee.balance() == "110"


async def test_the_current_tab_is_in_sight_on_a_telephone_without_javascript(registry: TestRegistry, visit):
    developer = await registry.developer()
    agent = await developer.agent()
    page = await logged_in(visit, developer, viewport=SIZES["telephone"], java_script_enabled=False)
    for address, tab in (("wallet/proof", "Proof"), ("wallet", "Wallet"), ("end", "Settings")):
        await page.goto(f"/account/agents/{agent.did}/{address}")
        box = await page.locator("nav.tabs").get_by_role("link", name=tab, exact=True).bounding_box()
        assert box is not None
        assert box["x"] >= 0, (address, box)
        assert box["x"] + box["width"] <= SIZES["telephone"]["width"], (address, box)


async def test_a_transaction_takes_two_lines_on_a_telephone_and_leads_to_its_page(
    registry: TestRegistry, visit
):
    developer = await registry.developer()
    agent, payee = await developer.agent(), await registry.agent(name="Receiver")
    await agent.transfer(payee, "10")
    page = await logged_in(visit, developer, viewport=SIZES["telephone"])
    await page.goto(f"/account/agents/{agent.did}/wallet/statement")
    rows = page.get_by_role("region", name="Transactions").locator("tbody tr")
    await expect(rows).to_have_count(2)
    line_height = await rows.first.evaluate("row => parseFloat(getComputedStyle(row).lineHeight)")
    for row in await rows.all():
        padding = await row.evaluate(
            "row => parseFloat(getComputedStyle(row).paddingTop) + parseFloat(getComputedStyle(row).paddingBottom)"
        )
        box = await row.bounding_box()
        assert box is not None
        assert box["height"] - padding < 3 * line_height, box
    assert await violations_of(page) == []
    await rows.first.get_by_role("link", name="Transfer").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Transaction")


async def test_the_plot_of_a_wallet_names_the_value_below_the_cursor_and_its_values_are_a_table(
    registry: TestRegistry, visit
):
    developer = await registry.developer()
    agent, payee = await developer.agent(), await registry.agent()
    for amount in ("10", "20", "30"):
        await agent.transfer(payee, amount)
    page = await logged_in(visit, developer, viewport=SIZES["desk"])
    await page.goto(f"/account/agents/{agent.did}/wallet")
    plot = page.locator("figure.plot")
    await plot.get_by_text("Values: Liquid balance").click()
    values = await plot.locator("tbody data").all_text_contents()
    assert len(values) == 4
    over = plot.locator(".u-over")

    async def point_at(place: float, value: str) -> None:
        # The plot is drawn again at its width: what was pointed at before is forgotten.
        async with asyncio.timeout(POINTING_SECONDS):
            while not await plot.get_by_text(f": {value}").is_visible():
                width = (await over.bounding_box() or {})["width"]
                await page.mouse.move(0, 0)
                await over.hover(position={"x": 2 + place * (width - 4), "y": 50})

    await point_at(1, values[-1])
    await expect(plot.get_by_role("button", name="24 h")).to_have_count(0)
    await point_at(0, values[0])
    assert await violations_of(page) == []
    reader = await logged_in(visit, developer, java_script_enabled=False)
    await reader.goto(f"/account/agents/{agent.did}/wallet")
    await expect(reader.locator("figure.plot svg")).to_be_visible()
    await expect(reader.locator("figure.plot canvas")).to_have_count(0)


async def test_a_plot_shows_a_range_that_the_keyboard_chooses(registry: TestRegistry, visit):
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO journal_volume (day, payments, amount)"
            " SELECT current_date - number, 1, 100000000 FROM generate_series(1, 40) number"
        )
    )
    page = (await visit("/supply", viewport=SIZES["desk"])).page
    plot = page.locator("figure.plot", has_text="Paid each day")
    days = await plot.locator("tbody time").all_text_contents()
    over = plot.locator(".u-over")
    readout = plot.locator("p.faint")
    await over.hover(position={"x": 4, "y": 50})
    await expect(readout).to_contain_text(days[0])
    await plot.get_by_role("button", name="7 d").focus()
    await page.keyboard.press("Enter")
    await expect(plot.get_by_role("button", name="7 d")).to_have_attribute("aria-pressed", "true")
    await over.hover(position={"x": 8, "y": 60})
    await expect(readout).to_contain_text(days[-8])


async def test_a_token_counts_down(registry: TestRegistry, visit):
    developer = await registry.developer()
    agent, payee = await developer.agent(), await registry.agent()
    body = {"target_agent_did": payee.did, "amount": "1"}
    await registry.post("/a2a-payment/authorize", json=body, headers=agent.headers)
    page = await logged_in(visit, developer)
    await page.goto(f"/account/agents/{agent.did}/wallet/tokens")
    left = page.locator("time[data-countdown] + span")
    first = await left.text_content()
    await expect(left).not_to_have_text(first or "")
    await confirm(page, "Release")
    await expect(page.get_by_role("status")).to_contain_text("Nothing was paid.")


async def test_an_open_proposal_is_made_with_the_bond_and_the_record_that_its_provider_needs(
    registry: TestRegistry, visit
):
    developer = await registry.developer()
    agent = await developer.agent()
    page = await logged_in(visit, developer, viewport=SIZES["telephone"])
    await page.goto(f"/account/agents/{agent.did}/contracts/new")
    await page.get_by_label("Title").fill("Ten summaries")
    await page.get_by_label("Amount in AVT").fill("10")
    await page.get_by_label("Terms").fill("Ten summaries in plain words.")
    await page.get_by_label("Acceptance criteria").fill("Ten summaries, each signed.")
    await page.get_by_label("Review due").fill(f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%M}")
    await page.get_by_label("Hold the amount").check()
    await page.get_by_label("Bond of the provider in AVT").fill("2.5")
    await page.get_by_label("Verified jobs of the provider").fill("three")
    await page.get_by_role("button", name="Propose", exact=True).click()
    await expect(page.get_by_label("Verified jobs of the provider")).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_label("Bond of the provider in AVT")).to_have_value("2.5")
    assert await objections(page) == []
    await page.get_by_label("Verified jobs of the provider").fill("3")
    await page.get_by_role("button", name="Propose", exact=True).click()
    await expect(page.get_by_role("status")).to_have_text("The contract is proposed.")
    await expect(page.locator("dl.ledger").first).to_contain_text("A bond of 2.5 AVT or 3 verified jobs")


async def test_an_administrator_suspends_an_agent_and_rules_on_a_dispute(registry: TestRegistry, visit):
    agent, other = await registry.agent(name="Sender"), await registry.agent()
    dispute = await filed(agent, other)
    administrator = await registry.administrator("admin_enforcement")
    page = await logged_in(visit, administrator, viewport=SIZES["desk"])
    await page.get_by_role("link", name="Administration").click()
    await expect(page.get_by_role("link", name="Treasury")).to_have_count(0)
    areas = page.get_by_role("navigation", name="Administration")
    await areas.get_by_role("link", name="Agents", exact=True).click()
    await page.get_by_label(f"Select {other.did}").check()
    await page.get_by_label("Reason").fill("Fraud")
    await page.get_by_role("button", name="Preview").click()
    await expect(page.get_by_text("Nothing has been changed yet.")).to_be_visible()
    assert await violations_of(page) == []
    await page.get_by_role("button", name="Suspend", exact=True).click()
    await expect(page.get_by_role("heading", name="Suspend agents: outcome")).to_be_visible()
    assert await violations_of(page) == []
    assert (await registry.get("/agents/me", headers=other.headers)).status_code == 403
    await page.goto(f"/administration/disputes/{dispute}")
    await confirm(page, "End the time for evidence")
    await page.get_by_label("Ruling", exact=True).select_option("DISMISSED")
    await page.get_by_label("Note").fill("There is no payment.")
    await page.get_by_role("button", name="Preview the ruling").click()
    await page.get_by_role("button", name="Rule", exact=True).click()
    await expect(page.get_by_role("status")).to_have_text("The ruling is carried out.")


async def test_the_link_of_an_invitation_fills_it_in_and_leaves_no_address_with_it(
    registry: TestRegistry, visit
):
    administrator = await registry.administrator("admin_federation")
    page = await logged_in(visit, administrator, viewport=SIZES["telephone"])
    await page.goto("/administration/peers/accept#invitation=ey.J0.x_-")
    await expect(page.get_by_label("Invitation", exact=True)).to_have_value("ey.J0.x_-")
    assert page.url.endswith("/administration/peers/accept")
    await page.get_by_role("button", name="Check the invitation").click()
    await expect(page.get_by_role("alert")).to_contain_text("no address for peers")
    await expect(page.get_by_text("Not reached")).to_have_count(9)
    assert await objections(page) == []
