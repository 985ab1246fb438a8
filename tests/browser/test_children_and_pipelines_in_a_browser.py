"""Children in each state of their life, and a pipeline written, run, decided on, resumed and cancelled, in a real browser on a telephone."""

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, expect

from tests.browser.accessibility import objections
from tests.browser.conftest import OpenPage, Visit
from tests.browser.person import confirm
from tests.doors.served import served
from tests.pipelines import Market, open_market, step
from tests.registry import PASSWORD, StartRegistry, TestDeveloper, TestRegistry
from tests.spawning import child_of, ended

TELEPHONE = {"width": 360, "height": 740}


@pytest.fixture
async def market(start_registry: StartRegistry) -> AsyncIterator[Market]:
    async with open_market(start_registry, opens=served) as opened:
        yield opened


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


async def test_children_are_shown_in_each_state_of_their_life(registry: TestRegistry, visit: OpenPage):
    owner = await registry.developer()
    parent, childless = await owner.agent(name="Parent"), await owner.agent(name="Childless")
    given = {"roles": ["client", "staker"]}
    await registry.http.put(f"/api/v1/agents/{parent.did}/authz", json=given, headers=owner.headers)
    await child_of(parent, name="Living")
    ending, over = await child_of(parent, name="Ending", funding="20"), await child_of(parent, name="Over")
    stake = {"amount": "10", "lock_period": 30}
    assert (await registry.post("/staking/stake", json=stake, headers=ending.headers)).status_code == 200
    assert (await ended(ending, parent))["state"] == "ending"
    assert (await ended(over, parent))["state"] == "ended"
    opened = await logged_in(visit, owner)
    page = opened.page
    await page.goto(f"/account/agents/{childless.did}/children")
    await expect(page.get_by_text("No children.")).to_be_visible()
    await require_good(opened)
    await page.goto(f"/account/agents/{parent.did}/children")
    for name, state, says in (
        ("Living", "active", "10"),
        ("Ending", "ending", "10 held"),
        ("Ending", "ending", "since"),
        ("Over", "ended", "returned"),
    ):
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))
        await expect(row).to_contain_text(re.compile(state, re.IGNORECASE))
        await expect(row).to_contain_text(says)
    await require_good(opened)
    await confirm(page, "Try again", "End Ending")
    await expect(page.get_by_role("alert")).to_contain_text("Staked units are locked")
    await require_good(opened)
    await page.goto(f"/account/agents/{parent.did}/children")
    await confirm(page, "End", "End Living")
    await expect(page.get_by_role("status")).to_contain_text("The child has ended.")


async def fill_step(page: Page, number: int, **fields: str) -> None:
    """Fill in fields of a step; those behind the fold are opened first."""
    for name, value in fields.items():
        field = page.locator(f"#step_{number}_{name}")
        if not await field.is_visible():
            await page.locator(f"#step-{number} summary").click()
        if await field.evaluate("field => field.tagName") == "SELECT":
            await field.select_option(value)
        elif await field.get_attribute("type") == "checkbox":
            await field.check()
        else:
            await field.fill(value)


async def test_a_pipeline_is_written_and_changed_on_a_telephone(market: Market, visit: OpenPage):
    echo = await market.sells("echo", str)
    pages = f"/account/agents/{market.buyer.did}/pipelines"
    opened = await logged_in(visit, market.owner)
    page = opened.page
    await page.goto(pages)
    await page.get_by_role("link", name="Write a pipeline").click()
    await require_good(opened)
    await page.get_by_label("Name", exact=True).fill("By hand")
    await page.get_by_label("Budget of a run").fill("1")
    await fill_step(page, 1, id="first", agent=echo, content="{{/input/text}}", max_amount="much")
    await page.get_by_role("button", name="Add a step").click()
    await expect(page.get_by_role("group", name="Step 2")).to_be_visible()
    await fill_step(page, 2, id="second", agent=echo, content="{{/steps/first/output/text}}", needs="first")
    await fill_step(page, 2, max_amount="1", on_failure="skip", approval="true")
    # Enter saves, and each refusal is beside its field.
    await page.locator("#step_2_needs").press("Enter")
    await expect(page.locator("#step_1_max_amount-trouble")).to_contain_text("A decimal number")
    await expect(page.locator("#step_2_approval")).to_be_checked()
    # The browser notes the status of the refusal.
    opened.complaints.clear()
    await require_good(opened)
    await fill_step(page, 1, max_amount="1")
    await page.get_by_role("button", name="Create the pipeline").click()
    await expect(page.get_by_role("status")).to_contain_text("The pipeline is created.")
    await require_good(opened)
    await page.get_by_role("link", name="Change the pipeline").click()
    await expect(page.locator("#step_2_on_failure")).to_have_value("skip")
    await require_good(opened)
    await page.get_by_label("Description").fill("Two calls.")
    await page.get_by_role("button", name="Save the pipeline").click()
    await expect(page.get_by_role("status")).to_contain_text("Revision 2 is saved.")


async def test_a_run_is_started_decided_on_resumed_and_cancelled_on_a_telephone(
    market: Market, visit: OpenPage
):
    echo = await market.sells("echo", str)
    made = await market.created(
        step("first", echo),
        step("second", echo, needs=["first"], approval=True, on_failure="skip"),
        budget="1",
    )
    pages = f"/account/agents/{market.buyer.did}/pipelines"
    opened = await logged_in(visit, market.owner)
    page = opened.page
    await page.goto(f"{pages}/{made}")
    await page.get_by_label("text").fill("good morning")
    await confirm(page, "Start", "Start the run")
    await expect(page.get_by_role("status")).to_contain_text("The run is started.")
    run = page.url.partition(pages)[2].partition("?")[0]
    await market.until(run, "waiting_approval")
    await page.goto(pages + run)
    await require_good(opened)
    await confirm(page, "Go on", "Let it go on")
    await expect(page.get_by_role("status")).to_contain_text("The step goes on.")
    await market.until(run, "budget_exceeded")
    await page.goto(pages + run)
    await page.get_by_label("Budget").fill("2")
    await confirm(page, "Resume", "Resume the run")
    await expect(page.get_by_role("status")).to_contain_text("The run goes on.")
    await market.until(run, "succeeded")
    await page.goto(pages + run)
    await expect(page.get_by_text("good morning").first).to_be_visible()
    await require_good(opened)
    other = await market.started(made, {"text": "x"})
    await market.until(other, "waiting_approval")
    await page.goto(pages + other)
    await confirm(page, "Deny", "Let it fail")
    await market.until(other, "succeeded")
    third = await market.started(await market.created(step("only", echo, approval=True)), {"text": "x"})
    await page.goto(pages + third)
    await confirm(page, "Cancel", "Cancel the run")
    await market.until(third, "cancelled")
