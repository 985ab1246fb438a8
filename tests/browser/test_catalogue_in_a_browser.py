"""The catalogue as a person uses it: typing, choosing, going back, with a keyboard, on a telephone, without a script."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.registry import TestRegistry

HOSTILE = '"><svg onload=alert(1)><img src=x onerror=alert(2)>'
DESK = {"width": 1200, "height": 900}


@pytest.fixture
async def market(registry: TestRegistry) -> TestRegistry:
    developer = await registry.developer()
    await developer.agent(
        name="Lingua", tags=["translation"], pricing={"model": "per_request", "base_rate": 2}
    )
    await developer.agent(name="Babel", tags=["translation"])
    await developer.agent(name="Invoicer", tags=["billing"])
    await registry.indexed()
    return registry


def names(page: Page):
    return page.get_by_role("heading", level=2).filter(has=page.get_by_role("link"))


async def test_typing_narrows_the_page_in_place_and_the_address_shows_it(market, visit):
    opened = await visit("/catalogue", viewport=DESK)
    page = opened.page
    await page.evaluate("window.isStill = true")
    await page.get_by_role("searchbox").press_sequentially("babel")
    await expect(names(page)).to_have_text(["Babel"])
    await expect(page.get_by_role("status")).to_have_text("1 agent")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    assert page.url.endswith("/catalogue?q=babel")
    assert await page.evaluate("window.isStill")
    # What was typed in one go is one step back.
    await page.go_back()
    await expect(names(page)).to_have_count(3)
    await expect(page.get_by_role("searchbox")).to_have_value("")
    await page.go_forward()
    await expect(names(page)).to_have_text(["Babel"])
    await expect(page.get_by_role("searchbox")).to_have_value("babel")
    assert (opened.complaints, opened.strangers) == ([], [])


async def test_a_choice_keeps_what_was_typed_and_what_was_typed_keeps_the_choice(market, visit):
    page = (await visit("/catalogue", viewport=DESK)).page
    await page.get_by_role("link", name="translation 2").click()
    await expect(names(page)).to_have_count(2)
    await page.get_by_role("searchbox").press_sequentially("lingua")
    await expect(names(page)).to_have_text(["Lingua"])
    assert page.url.endswith("/catalogue?q=lingua&tag=translation")
    await page.get_by_role("link", name="Paid 1").click()
    await expect(page).to_have_url(re.compile(r"q=lingua&pricing=paid&tag=translation$"))
    await page.get_by_label("Active filters").get_by_role("link", name="Clear all filters").click()
    await expect(names(page)).to_have_count(3)
    await expect(page.get_by_role("searchbox")).to_have_value("")


async def test_the_keyboard_stays_on_the_choice_it_made(market, visit):
    page = (await visit("/catalogue", viewport=DESK)).page
    choice = page.get_by_role("link", name="Paid 1")
    await choice.focus()
    await page.keyboard.press("Enter")
    await expect(names(page)).to_have_text(["Lingua"])
    await expect(choice).to_be_focused()
    await expect(choice).to_have_attribute("aria-current", "true")
    await page.keyboard.press("Enter")
    await expect(names(page)).to_have_count(3)


async def test_a_registry_that_does_not_answer_is_reported_and_what_was_shown_stays(market, visit):
    page = (await visit("/catalogue", viewport=DESK)).page
    await page.context.set_offline(offline=True)
    await page.get_by_role("searchbox").press_sequentially("babel")
    await expect(page.get_by_role("alert")).to_contain_text("does not respond")
    await expect(names(page)).to_have_count(3)
    await page.context.set_offline(offline=False)
    await page.get_by_role("searchbox").press("Backspace")
    await expect(names(page)).to_have_text(["Babel"])
    await expect(page.get_by_role("alert")).to_be_hidden()


async def test_on_a_telephone_the_filters_wait_behind_their_name(market, visit):
    page = (await visit("/catalogue", viewport={"width": 320, "height": 640})).page
    choice = page.get_by_role("link", name="billing 1")
    await expect(choice).to_be_hidden()
    await page.get_by_text("Filters", exact=True).click()
    await choice.click()
    await expect(names(page)).to_have_text(["Invoicer"])
    # They stay open for the next choice.
    await expect(choice).to_be_visible()


async def test_the_whole_catalogue_works_without_a_script(market, visit):
    page = (await visit("/catalogue", java_script_enabled=False, viewport=DESK)).page
    await page.get_by_role("link", name="translation 2").click()
    await page.get_by_role("searchbox").fill("babel")
    await page.get_by_role("button", name="Search").click()
    await expect(names(page)).to_have_text(["Babel"])
    assert "tag=translation" in page.url
    await page.get_by_role("link", name="Babel", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Babel")


async def test_what_a_card_says_runs_nothing_and_leaves_its_place_nowhere(registry: TestRegistry, visit):
    agent = await registry.agent(name=HOSTILE, description=HOSTILE, tags=[HOSTILE])
    await registry.indexed()
    page = (opened := await visit("/livez", viewport=DESK)).page
    for path in (f"/agents/{agent.did}", "/catalogue?q=svg", "/catalogue"):
        await page.goto(path)
        await expect(page.get_by_role("heading", name=HOSTILE).first).to_be_visible()
        assert await page.locator("main svg:not(.avatar), main img:not(.strip)").count() == 0
        assert opened.complaints == []
    # Also when the script puts it in place.
    await page.get_by_role("searchbox").press_sequentially("onload")
    await expect(page).to_have_url(re.compile("q=onload"))
    assert await page.locator("main svg:not(.avatar), main img:not(.strip)").count() == 0
    assert opened.complaints == []


async def test_an_owner_draws_nothing_over_what_the_registry_says(registry: TestRegistry, visit):
    """Characters that pile up or run from right to left stay within the panel of their owner."""
    pile = "Z" + "\u0489\u0336\u0315" * 40
    agent = await registry.agent(name="A" + pile, description="\u202e" + pile * 20 + "שלום" * 50)
    page = (await visit(f"/agents/{agent.did}", viewport=DESK)).page
    owner, registry_says = page.locator(".panel.theirs"), page.locator(".panel.vouched")
    assert await owner.evaluate("it => getComputedStyle(it).overflow") == "clip"
    await expect(registry_says).to_contain_text(agent.did)
    assert await registry_says.locator("bdi").all_text_contents() == ["hansa.local", "AVT"]
    head = await page.locator(".agent-head").bounding_box()
    assert head["height"] < 200
