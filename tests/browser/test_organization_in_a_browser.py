"""An organization of two owners with real browsers and real mail: founded, joined by the link of a mail, shared, and left."""

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page, expect

from hansa.doors.assembly import ASSEMBLY
from tests.browser.person import PersonAtBrowser, confirm
from tests.doors.served import served
from tests.mail_server import MailServer
from tests.registry import PASSWORD, StartRegistry, TestRegistry
from tests.running_jobs import working

QUEUED = [kind for kind in ASSEMBLY.jobs if kind.every_seconds is None]
TOKEN_OF_MAIL = re.compile(r"oit_[0-9a-f]{64}")
BASE = "/account/organizations/lighthouse"


@pytest.fixture
def mails(unused_tcp_port: int):
    server = MailServer(unused_tcp_port)
    server.controller.start()
    yield server
    server.controller.stop()


@pytest.fixture
async def registry(start_registry: StartRegistry, mails: MailServer) -> AsyncIterator[TestRegistry]:
    settings = {
        "smtp_url": mails.url,
        "mail_from": "Registry <post@registry.example.org>",
        "email_verification_required": True,
    }
    async with served(start_registry, **settings) as registry, working(registry.runtime, *QUEUED):
        yield registry


async def opened(browser: Browser, registry: TestRegistry) -> Page:
    """A page in a browser of its own."""
    context = await browser.new_context(
        base_url=registry.settings.base_url, extra_http_headers=registry.elsewhere()
    )
    return await context.new_page()


async def test_two_owners_share_agents_in_an_organization(
    browser: Browser, registry: TestRegistry, mails: MailServer
):
    ada = PersonAtBrowser(registry, mails, await opened(browser, registry), "Ada")
    ben = PersonAtBrowser(registry, mails, await opened(browser, registry), "Ben")
    for person in (ada, ben):
        await person.sign_up()
        await person.verify_address()
    await ada.log_in()
    await ada.create_agent("Lingua")
    await found(ada)
    await invite(ada, ben)
    await accept(ben)
    await make_owner(ada, "Ben")
    await move_in(ada)
    await share(ada, "Ben")
    await ben.page.goto(f"{BASE}/agents")
    await ben.page.get_by_role("link", name="Lingua").click()
    await expect(ben.page.get_by_role("link", name="Credentials")).to_be_visible()
    await leave(ben)


async def found(person: PersonAtBrowser) -> None:
    page = person.page
    await page.goto("/account/organizations")
    await page.get_by_label("Name", exact=True).fill("Lighthouse")
    await page.get_by_label("Short name").fill("lighthouse")
    await page.get_by_role("button", name="Found the organization").dblclick()
    await person.reads("The organization is founded. Invite members, or move an agent in.")
    await expect(page.locator("details.switcher summary")).to_have_text("Lighthouse")


async def invite(person: PersonAtBrowser, guest: PersonAtBrowser) -> None:
    await person.page.goto(f"{BASE}/members")
    await person.page.get_by_label("E-mail address").fill(guest.email)
    await person.page.locator("form[action$='/invitations'] select[name=role]").select_option("admin")
    await person.page.get_by_role("button", name="Send the invitation").click()
    await person.reads("The invitation is mailed. It is good for 7 days, once.")


async def accept(guest: PersonAtBrowser) -> None:
    """Follow the link of the mail without a session: the login keeps the token, which no server has read."""
    page = guest.page
    await page.goto(await guest.link_mailed("Invitation to an organization"))
    await page.get_by_label("E-mail address").fill(guest.email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in", exact=True).click()
    await expect(page.get_by_label("Token of the mail")).to_have_value(TOKEN_OF_MAIL)
    assert "oit_" not in page.url
    await page.get_by_role("button", name="Accept and join").dblclick()
    await guest.reads("You are a member of the organization.")


async def make_owner(person: PersonAtBrowser, name: str) -> None:
    page = person.page
    await page.goto(f"{BASE}/members")
    await page.get_by_label(f"Role of {name}", exact=True).select_option("owner")
    await page.get_by_role("button", name=f"Change the role of {name}").click()
    await person.reads("The role is changed, with effect from the next request.")


async def move_in(person: PersonAtBrowser) -> None:
    await person.page.goto(f"{BASE}/agents")
    await person.page.locator("form[action$='/agents'] select[name=did]").select_option(label="Lingua")
    await confirm(person.page, "Move the agent in", "Move it in")
    await expect(person.page.get_by_role("status")).to_contain_text("The agent belongs to the organization.")


async def share(person: PersonAtBrowser, name: str) -> None:
    """A team with a member and a right at the agent."""
    page = person.page
    await page.goto(f"{BASE}/teams")
    await page.get_by_label("Name", exact=True).fill("crew")
    await page.get_by_role("button", name="Make the team").click()
    await person.reads("The team is made.")
    await page.locator("form[action$='/places'] select[name=team]").select_option("crew")
    await page.locator("form[action$='/places'] select[name=did]").select_option(label="Lingua")
    await page.get_by_role("button", name="Give the right").click()
    await person.reads("The team has its right at the agent.")
    await page.get_by_role("link", name="crew").click()
    await page.get_by_label("Member", exact=True).select_option(label=name)
    await page.get_by_role("button", name="Add to the team").click()
    await person.reads("The member has a place in the team.")


async def leave(person: PersonAtBrowser) -> None:
    await person.page.goto(f"{BASE}/members")
    await person.page.get_by_role("link", name="Leave").click()
    await person.press("Leave the organization", "Organizations")
    await person.reads("You have left the organization.")
