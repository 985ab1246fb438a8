"""The live list of events as a person meets it."""

from playwright.async_api import expect

ROWS = "[data-events] tr"


async def test_the_list_of_events_is_live_pauses_and_resumes_without_missing_one(registry, visit):
    payer, payee = await registry.agent(), await registry.agent()
    opened = await visit(f"/events?type=TokensTransferred&did={payee.did}")
    page = opened.page
    await expect(page.get_by_role("status")).to_have_text("Live")
    before = await page.locator(ROWS).count()
    await payer.transfer(payee, "1")
    await expect(page.locator(ROWS)).to_have_count(before + 1)
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("status")).to_have_text("Paused")
    for amount in ("2", "3"):
        await payer.transfer(payee, amount)
    await expect(page.locator(ROWS)).to_have_count(before + 1)
    await page.get_by_role("button", name="Resume").click()
    await expect(page.locator(ROWS)).to_have_count(before + 3)
    numbers = [int(number) for number in await page.locator(f"{ROWS} .number").all_inner_texts()]
    assert numbers == sorted(set(numbers), reverse=True)
    assert (opened.strangers, opened.complaints) == ([], [])


async def test_the_list_of_events_is_filtered_and_paged_without_a_script(registry, visit):
    payer, payee = await registry.agent(), await registry.agent()
    for _ in range(20):
        await payer.transfer(payee, "1")
    page = (await visit("/events?entries=true", java_script_enabled=False)).page
    await expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    await page.get_by_role("link", name="Older").click()
    await expect(page.get_by_role("heading", name="Older events")).to_be_visible()
    await page.goto("/events")
    await page.get_by_label("Type").select_option("AgentOnboarded")
    await page.get_by_role("button", name="Apply filters").click()
    await expect(page.locator(ROWS)).to_have_count(2)
    await page.locator(f"{ROWS} .number a").first.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Agent Onboarded")
