"""The page of an agent as a person meets it: the check of its signature, and its commands."""

from playwright.async_api import expect

from tests.registry import TestRegistry

SCALE = {"uri": "https://example.org/scale", "params": {"scale": 1e-7}}
CARD = {
    "name": "Übersetzer 😀",
    "pricing": {"model": "per_request", "base_rate": 0.5},
    "capabilities": {"extensions": [SCALE]},
}


async def test_the_browser_checks_the_signature_of_the_card_and_shows_who_signed_what(
    registry: TestRegistry, visit
):
    agent = await registry.agent(**CARD)
    opened = await visit(f"/agents/{agent.did}")
    page = opened.page
    await page.get_by_role("button", name="Verify signature").click()
    await expect(page.get_by_role("status")).to_have_text("Verified")
    findings = page.locator("[data-findings]")
    export = (await registry.get(f"/agents/{agent.did}/card-export")).json()
    keys = (await registry.http.get("/.well-known/registry-jwks.json")).json()["keys"]
    for expected in (export["name"], keys[0]["kid"], keys[0]["kid"].partition("#")[0], "0.5"):
        await expect(findings).to_contain_text(expected)
    assert opened.complaints == []


async def test_a_card_that_was_changed_in_transit_is_not_verified(registry: TestRegistry, visit):
    agent = await registry.agent(**CARD)
    page = (await visit(f"/agents/{agent.did}")).page

    async def change(route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, body=(await answer.text()).replace("1e-07", "2e-07"))

    await page.route("**/card-export", change)
    await page.get_by_role("button", name="Verify signature").click()
    await expect(page.get_by_role("status")).to_have_text("Not verified")
    await expect(page.locator("[data-reason]")).to_contain_text("the card or the signature was changed")
    await expect(page.locator("[data-findings]")).to_be_hidden()
    await page.unroute("**/card-export")
    await page.get_by_role("button", name="Verify signature").click()
    await expect(page.get_by_role("status")).to_have_text("Verified")


async def test_a_check_that_cannot_be_made_says_why(registry: TestRegistry, visit):
    agent = await registry.agent(**CARD)
    page = (await visit(f"/agents/{agent.did}")).page
    await page.evaluate("Object.defineProperty(crypto, 'subtle', { value: undefined })")
    await page.get_by_role("button", name="Verify signature").click()
    await expect(page.locator("[data-reason]")).to_contain_text("only on pages loaded over HTTPS")
    await page.context.set_offline(offline=True)
    await page.get_by_role("button", name="Verify signature").click()
    await expect(page.locator("[data-reason]")).to_have_text("The registry cannot be reached.")
