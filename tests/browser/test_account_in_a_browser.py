"""A person with a real browser: from signing up to an agent that answers, on a screen and on a telephone."""

import pyotp
import pytest
from playwright.async_api import expect

from tests.browser.accessibility import objections
from tests.properties.scale import by_tier
from tests.registry import PASSWORD, TestDeveloper

SCREEN = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
TELEPHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
# A commit looks at the narrow one, on which a page fits least.
DEVICES = pytest.mark.parametrize("device", by_tier([TELEPHONE], [SCREEN, TELEPHONE], [SCREEN, TELEPHONE]))


async def require_fit(page):
    """The page that is open is fit for everybody."""
    assert (page.url, await objections(page)) == (page.url, [])


async def log_in(page, email):
    await page.goto("/login")
    await page.get_by_label("E-mail address").fill(email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Home")


async def press(page, button, heading):
    """Press a button and wait for the page that it leads to."""
    await page.get_by_role("button", name=button, exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
    await require_fit(page)


@DEVICES
async def test_a_person_signs_up_turns_two_factors_on_and_creates_an_agent(visit, device):
    opened = await visit("/sign-up", **device)
    page = opened.page
    await page.get_by_label("Display name").fill("Ada Lovelace")
    await page.get_by_label("E-mail address").fill("ada@example.org")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_label("I accept the terms").check()
    await page.get_by_label("I am old enough").check()
    await press(page, "Sign up", "Save your recovery keys")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download as a file").click()
    keys = (await (await download.value).path()).read_text().split()
    assert await page.locator("ul.secret code").all_text_contents() == keys
    await page.get_by_label("I have saved them").check()
    await press(page, "Continue to the login", "Log in")
    await log_in(page, "ada@example.org")

    await page.goto("/account/two-factor")
    await press(page, "Set up two-factor login", "Set up the app")
    await expect(page.locator(".qr svg")).to_be_visible()
    seed = await page.locator(".secret code").text_content()
    await page.get_by_label("Code that the app shows").fill(pyotp.TOTP(seed).now())
    await press(page, "Turn two-factor login on", "Two-factor login is on")
    assert await page.locator("ul.secret code").count() == 10

    await page.goto("/account/agents/new")
    form = page.locator("form[action='/account/agents/new/from-form']")
    await form.get_by_label("Name", exact=True).fill("Scribe")
    await form.get_by_label("Description").fill("Writes summaries.")
    await form.get_by_label("Address to call").fill("https://scribe.example.org/a2a")
    await form.get_by_label("Name of its first skill").fill("Summary")
    await form.get_by_label("What this skill does").fill("Writes one summary.")
    await form.get_by_role("button", name="Review the card").click()
    await expect(page.get_by_text("Nothing has been created yet.")).to_be_visible()
    await require_fit(page)
    await press(page, "Create the agent", "Agent created")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download .env").click()
    assert "HANSA_CLIENT_SECRET='hsk_" in (await (await download.value).path()).read_text()
    await press(page, "Test the credentials", "Test call")
    await expect(page.get_by_role("status")).to_contain_text("200 OK")
    assert (opened.strangers, opened.complaints) == ([], [])


async def test_the_link_of_an_invitation_opens_sign_up_with_the_code_and_keeps_it_out_of_the_address(
    registry, visit
):
    administrator = await registry.administrator("admin_support")
    answer = await registry.post(
        "/admin/invite-codes/generate", json={"count": 2}, headers=administrator.headers
    )
    first, second = answer.json()
    opened = await visit(first["invite_url"].removeprefix(registry.settings.base_url))
    page = opened.page
    code = page.get_by_label("Invitation code")
    await expect(code).to_have_value(first["code"])
    await expect(page).to_have_url(f"{registry.settings.base_url}/sign-up")
    await page.goto(second["invite_url"])
    await expect(code).to_have_value(second["code"])

    await page.get_by_label("Display name").fill("Ada Lovelace")
    await page.get_by_label("E-mail address").fill("ada@example.org")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_label("I accept the terms").check()
    await page.get_by_label("I am old enough").check()
    await press(page, "Sign up", "Save your recovery keys")
    listed = await registry.get("/admin/invite-codes", headers=administrator.headers)
    uses = {invite["id"]: invite["uses"] for invite in listed.json()["items"]}
    assert uses == {first["id"]: 0, second["id"]: 1}
    assert (opened.strangers, opened.complaints) == ([], [])


async def test_a_changed_card_is_compared_and_an_error_stands_beside_its_field(registry, visit):
    developer: TestDeveloper = await registry.developer()
    agent = await developer.agent(description="Before.")
    page = (await visit("/login", **TELEPHONE)).page
    await log_in(page, developer.email)
    await page.goto(f"/account/agents/{agent.did}/card")
    field = page.get_by_label("Agent card")
    await field.fill((await field.input_value()).replace("Before.", "After."))
    await press(page, "Review the changes", "Review the changes")
    await expect(page.locator("ins")).to_have_text('+  "description": "After.",')
    await press(page, "Save the card", "Card")
    await expect(page.get_by_role("status")).to_have_text("The card is saved.")
    await page.goto("/account/webhooks")
    await page.get_by_label("Address").fill("http://127.0.0.1/")
    await page.get_by_role("button", name="Create the webhook").click()
    await expect(page.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_role("alert")).to_be_focused()
    await require_fit(page)


async def test_a_password_is_shown_on_request_and_sent_as_a_password(registry, visit):
    developer: TestDeveloper = await registry.developer()
    page = (await visit("/login", **TELEPHONE)).page
    field = page.get_by_label("Password", exact=True)
    await field.fill(PASSWORD)
    button = page.locator("[data-show-password]")
    await button.click()
    await expect(field).to_have_attribute("type", "text")
    await expect(button).to_have_text("Hide")
    await require_fit(page)
    await page.get_by_label("E-mail address").fill(developer.email)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Home")
    await page.goto("/set-password#token=x")
    await require_fit(page)


async def test_nothing_on_the_form_of_the_login_moves_when_its_script_has_run(visit):
    places = []
    for runs_scripts in (False, True):
        page = (await visit("/login", **TELEPHONE, java_script_enabled=runs_scripts)).page
        await expect(page.locator("[data-show-password]")).to_be_visible(visible=runs_scripts)
        box = await page.get_by_role("button", name="Log in").bounding_box()
        assert box
        # The typeface of a first visit depends on the time of its arrival, and with it the width of a button.
        places.append((box["x"], box["y"], box["height"]))
    assert places[0] == places[1]
