"""Pages of pipelines: from a template to a run that its owner decides on, resumes and cancels in the browser."""

from collections.abc import AsyncIterator

import pytest

from tests.browsing import BrowserOf
from tests.connections import connect
from tests.conversations.mcp_client import McpClient
from tests.pipelines import Market, open_market, step
from tests.registry import StartRegistry


@pytest.fixture
async def market(start_registry: StartRegistry) -> AsyncIterator[Market]:
    async with open_market(start_registry) as opened:
        yield opened


@pytest.fixture
async def browser(market: Market) -> BrowserOf:
    return await BrowserOf(market.registry).log_in(market.owner.email)


def pages_of(market: Market) -> str:
    return f"/account/agents/{market.buyer.did}/pipelines"


async def settled(browser: BrowserOf, market: Market, *statuses: str) -> None:
    """Open the page of the run again once it has one of these statuses."""
    path = str(browser.page.url.path)
    await market.until(path.removeprefix(pages_of(market)), *statuses)
    await browser.open(path)


async def test_a_pipeline_is_made_from_a_template_and_run(market: Market, browser: BrowserOf):
    translator, reviewer = await market.sells("translator"), await market.sells("reviewer", str)
    pages = pages_of(market)
    await browser.open(pages)
    assert "No pipelines yet." in browser.text
    await browser.open(f"{pages}/templates")
    for title in ("Best of n", "Research and merge", "Translate and review"):
        assert title in browser.text
    form = f"{pages}/templates/translate-and-review"
    await browser.open(form)
    refused = await browser.send(form, translator=translator, reviewer="nobody", max_amount="1,5")
    assert refused.status_code == 422
    assert "reviewer is the DID of an agent" in browser.text
    await browser.send(form, translator=translator, reviewer=reviewer, max_amount="1,5")
    assert "The pipeline is created." in browser.text
    assert '<svg class="pipeline"' in browser.text
    pipeline = browser.page.url.path
    await browser.send(f"{pipeline}/start", input_text="good morning", input_language="Latin", budget="2")
    assert "The run is started." in browser.text
    await settled(browser, market)
    assert "TRANSLATE INTO LATIN" in browser.text
    assert "2 <small>of 2 AVT" in browser.text
    await browser.open(pages)
    assert "Translate and review" in browser.text


async def test_an_owner_decides_resumes_and_cancels_in_the_browser(market: Market, browser: BrowserOf):
    echo = await market.sells("echo", str)
    made = await market.created(
        step("a", echo, approval=True), step("b", echo, needs=["a"], approval=True), budget="1"
    )
    run = await market.started(made, {"text": "x"})
    page = f"{pages_of(market)}{run}"
    await market.until(run)
    await browser.open(page)
    await browser.send(f"{page}/steps/a/approve")
    assert "The step goes on." in browser.text
    await market.until(run, "waiting_approval")
    await browser.open(page)
    late = await browser.post(f"{page}/steps/a/approve", browser.form(f"{page}/cancel").fields)
    assert late.status_code == 409
    await browser.open(page)
    await browser.send(f"{page}/steps/b/approve")
    await settled(browser, market, "budget_exceeded")
    lower = await browser.send(f"{page}/resume", budget="0.5")
    assert lower.status_code == 409
    assert "never lowered" in browser.text
    await browser.open(page)
    await browser.send(f"{page}/resume", budget="2")
    assert "The run goes on." in browser.text
    await settled(browser, market, "succeeded")
    other = await market.started(made, {"text": "x"})
    page = f"{pages_of(market)}{other}"
    await market.until(other)
    await browser.open(page)
    await browser.send(f"{page}/steps/a/deny")
    await settled(browser, market, "failed")
    third = await market.started(made, {"text": "x"})
    page = f"{pages_of(market)}{third}"
    await browser.open(page)
    await browser.send(f"{page}/cancel")
    assert "Nothing more begins." in browser.text
    await market.until(third, "cancelled")
    pipeline = f"{pages_of(market)}/{made}"
    await browser.open(pipeline)
    await browser.send(f"{pipeline}/delete")
    assert "The pipeline is deleted." in browser.text


async def test_a_payment_of_a_connected_client_is_approved_in_the_browser(market: Market, browser: BrowserOf):
    echo = await market.sells("echo", str)
    client = await connect(
        market.registry,
        "pipelines:run",
        developer=market.owner,
        agent=market.buyer,
        per_call="5",
        per_day="10",
        ask_above="0.5",
    )
    made = await market.created(step("a", echo))
    tools = McpClient(market.registry, client.access_token)
    started = await tools.done("start_run", pipeline=made, input={"text": "x"})
    run = f"/{made}/runs/{started['run_id']}"
    page = f"{pages_of(market)}{run}"
    assert (await market.until(run))["status"] == "waiting_approval"
    await browser.open(page)
    await browser.send(f"{page}/steps/a/approve")
    ended = await market.until(run, "succeeded")
    assert (ended["client"], ended["spent"]) == ("Test client (unverified)", "1")
