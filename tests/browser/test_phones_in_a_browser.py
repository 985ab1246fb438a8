"""Phones with Chromium's virtual authenticator: enrolled, and asked about the logins of another browser."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, expect

from tests.browser.accessibility import objections
from tests.doors.served import served
from tests.registry import PASSWORD, StartRegistry, TestDeveloper, TestRegistry

TELEPHONE = {"viewport": {"width": 360, "height": 780}, "color_scheme": "dark"}
SCREEN = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    """Registry with a host name: an IP address has no passkeys."""
    async with served(start_registry, host="localhost") as registry:
        yield registry


@pytest.fixture
async def ada(registry) -> TestDeveloper:
    return await registry.developer("Ada")


async def require_fit(page):
    assert (page.url, await objections(page)) == (page.url, [])


async def give_password(page: Page, who: TestDeveloper, heading: str) -> None:
    await page.goto("/login")
    await page.get_by_label("E-mail address").fill(who.email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(heading)


async def enrolled(visit, who: TestDeveloper) -> Page:
    """A phone of a person, with the page of logins that wait."""
    page = (await visit("/login", **TELEPHONE)).page
    protocol = await page.context.new_cdp_session(page)
    await protocol.send("WebAuthn.enable")
    await protocol.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    await give_password(page, who, "Home")
    await page.goto("/account/phones")
    await require_fit(page)
    await page.get_by_role("button", name="Add this browser").click()
    await page.get_by_label("Name of the phone").fill("Ada's phone")
    await require_fit(page)
    await page.get_by_role("button", name="Make the passkey").click()
    await expect(page.get_by_role("status").first).to_have_text("This browser approves logins from now on.")
    await require_fit(page)
    await page.goto("/phone")
    await expect(page.get_by_text("No login waits.")).to_be_visible()
    return page


async def waiting(visit, who: TestDeveloper) -> tuple[Page, str]:
    """A browser that gave the password, and the number that it shows."""
    page = (await visit("/login", **SCREEN)).page
    await give_password(page, who, "Approve the login")
    return page, await page.locator("[data-number]").text_content()


async def answer(phone: Page, number: str) -> None:
    await expect(phone.get_by_role("heading", name="A login waits")).to_be_visible()
    await phone.get_by_label("Number on the login page").fill(number)
    await phone.get_by_role("button", name="Approve", exact=True).click()


async def test_a_person_enrols_a_phone_and_approves_the_login_of_another_browser(visit, ada):
    phone = await enrolled(visit, ada)
    computer, number = await waiting(visit, ada)
    await require_fit(computer)
    await expect(phone.get_by_role("heading", name="A login waits")).to_be_visible()
    # The number is typed, and stands nowhere on the phone.
    assert await phone.get_by_role("button", name=number).count() == 0
    await require_fit(phone)
    await answer(phone, number)
    await expect(phone.get_by_text("The login is approved.")).to_be_visible()
    await expect(computer.get_by_role("heading", level=1)).to_have_text("Home")


async def test_a_wrong_number_and_a_denial_end_logins_and_pause_the_phone(visit, ada):
    phone = await enrolled(visit, ada)
    computer, number = await waiting(visit, ada)
    await answer(phone, f"{(int(number) + 1) % 100:02d}")
    await expect(phone.get_by_text("This is not the number on the login page")).to_be_visible()
    await expect(computer.get_by_text("The number that was typed on the phone was wrong")).to_be_visible()
    await require_fit(computer)
    computer, _ = await waiting(visit, ada)
    await expect(phone.get_by_role("heading", name="A login waits")).to_be_visible()
    await phone.get_by_role("button", name="This is not me").click()
    await expect(phone.get_by_text("The login is denied.")).to_be_visible()
    await expect(computer.get_by_text("The login was denied on the phone.")).to_be_visible()
    await give_password(computer, ada, "Finish the login")
    await expect(computer.get_by_text("No phone is asked about this login")).to_be_visible()


async def test_a_sixth_login_within_an_hour_does_not_reach_the_phone(registry, visit, ada):
    phone = await enrolled(visit, ada)
    ended = "UPDATE people_phone_login SET status = 'denied', decided_at = now() WHERE status = 'pending'"
    for _ in range(5):
        computer, _ = await waiting(visit, ada)
        await expect(phone.get_by_role("heading", name="A login waits")).to_be_visible()
        await registry.database.transaction(lambda tx: tx.execute(ended))
        await expect(computer.get_by_text("The login was denied on the phone.")).to_be_visible()
        await computer.context.close()
    computer = (await visit("/login", **SCREEN)).page
    await give_password(computer, ada, "Finish the login")
    await expect(phone.get_by_text("No login waits.")).to_be_visible()


async def test_a_person_logs_in_on_the_phone_itself_with_its_passkey(visit, ada):
    phone = await enrolled(visit, ada)
    await phone.context.clear_cookies(name="hansa_session")
    await give_password(phone, ada, "Approve the login")
    await require_fit(phone)
    await phone.get_by_role("button", name="Use the passkey of this device").click()
    await expect(phone.get_by_role("heading", level=1)).to_have_text("Home")
