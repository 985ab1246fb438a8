"""An organization of two owners with real browsers and real mail: founded, joined by the link of a mail, shared, and left; its contracts reviewed."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Browser, Page, expect

from hansa.doors.assembly import ASSEMBLY
from tests.browser.accessibility import WIDTH, violations_of
from tests.browser.person import PersonAtBrowser, confirm
from tests.doors.served import served
from tests.mail_server import MailServer
from tests.registry import PASSWORD, StartRegistry, TestRegistry
from tests.running_jobs import working

QUEUED = [kind for kind in ASSEMBLY.jobs if kind.every_seconds is None]
TOKEN_OF_MAIL = re.compile(r"oit_[0-9a-f]{64}")
TREASURY_DID = re.compile(r"did:hansa:[\w.:-]+")
BASE = "/account/organizations/lighthouse"
# Two works of a day need no approval: together they are below the tier.
PRICE = "2"


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


async def test_two_owners_pay_together_and_a_stranger_wins_their_work(
    browser: Browser, registry: TestRegistry, mails: MailServer
):
    ada, ben, cleo = [
        PersonAtBrowser(registry, mails, await opened(browser, registry), name)
        for name in ("Ada", "Ben", "Cleo")
    ]
    for person in (ada, ben, cleo):
        await person.sign_up()
        await person.verify_address()
    for person, name in ((ada, "Lingua"), (cleo, "Scribe")):
        await person.log_in()
        await person.create_agent(name)
    await found(ada)
    await invite(ada, ben)
    await accept(ben)
    await make_owner(ada, "Ben")
    await pay_in(ada, "60")
    await require_an_approval(ada)
    await ask_for_payment(ada, cleo)
    await approve_payment(ben)
    assert (await balance_of(cleo)) == "110"
    for_guild = replace(ben, guild=BASE)
    first = await done_work(ada, cleo, ben, "Translate the manual")
    await approve_work(for_guild, first)
    assert (await balance_of(cleo)) == "112"
    second = await done_work(ada, cleo, ben, "Check the charts")
    dispute = await for_guild.file_dispute(second)
    await for_guild.add_evidence(dispute)
    await ada.page.goto(f"{BASE}/disputes")
    await ada.page.get_by_role("link", name=str(dispute), exact=True).click()
    await expect(ada.page.get_by_text("Only five summaries are signed.")).to_be_visible()
    await looks_right(
        ada.page, f"{BASE}/contracts", f"{BASE}/contracts/{first}", f"{BASE}/disputes/{dispute}"
    )


async def done_work(
    offering: PersonAtBrowser, bidder: PersonAtBrowser, awarding: PersonAtBrowser, title: str
) -> int:
    """The number of a contract whose work is submitted."""
    await offer_work(offering, title)
    await bid(bidder, title)
    await award(awarding, title)
    number = await contract_of(bidder)
    await bidder.deliver(number)
    return number


async def approve_work(person: PersonAtBrowser, number: int) -> None:
    """From the list of the contracts; the amount stands there before it is paid, and two clicks pay once."""
    page = person.page
    await page.goto(f"{BASE}/treasury")
    await page.get_by_role("link", name="Contracts", exact=True).click()
    await page.get_by_role("link", name=str(number), exact=True).click()
    await page.locator("summary", has_text="Approve and pay…").click()
    await expect(
        page.get_by_text(f"{PRICE} AVT are paid to the provider, from what is held.")
    ).to_be_visible()
    await page.get_by_role("button", name=f"Approve and pay: {PRICE} AVT").dblclick()
    await person.reads("The work is approved and paid.")


async def looks_right(page: Page, *addresses: str) -> None:
    """Pages are accessible, and as wide as the narrowest telephone."""
    for address in addresses:
        await page.set_viewport_size({"width": 360, "height": 740})
        await page.goto(address)
        assert await violations_of(page) == [], address
        assert await page.evaluate(WIDTH) <= 360, address


async def pay_in(person: PersonAtBrowser, amount: str) -> None:
    """Units of the own agent go to the treasury."""
    page = person.page
    await page.goto(f"{BASE}/treasury")
    did = TREASURY_DID.search(await page.content())[0]
    await page.goto(f"{person.base}/wallet/send")
    await page.get_by_label("Receiver", exact=True).fill(did)
    await page.get_by_label("Amount in AVT").fill(amount)
    await person.press("Check", "Confirm the transfer")
    await page.get_by_role("button", name=f"Send {amount} AVT").click()
    await person.reads("The units were sent.")


async def require_an_approval(person: PersonAtBrowser) -> None:
    page = person.page
    await page.goto(f"{BASE}/treasury/rules")
    await page.get_by_label("A payment of more than").first.fill("5")
    await page.get_by_label("of", exact=True).first.select_option("owner")
    await confirm(page, "Change the rules")
    await expect(page.get_by_role("status")).to_be_visible()


async def ask_for_payment(person: PersonAtBrowser, receiver: PersonAtBrowser) -> None:
    page = person.page
    await page.goto(f"{BASE}/treasury/pay")
    await page.get_by_label("Receiver", exact=True).fill(receiver.agent.did)
    await page.get_by_label("Amount in AVT").fill("10")
    await page.get_by_role("button", name="Check", exact=True).click()
    await expect(page.get_by_text("Nothing has been paid or asked yet.")).to_be_visible()
    await page.get_by_role("button", name="Ask for 10 AVT").dblclick()
    await expect(page.get_by_role("status")).to_be_visible()


async def approve_payment(person: PersonAtBrowser) -> None:
    """From the inbox of the person, where the request waits."""
    page = person.page
    await page.goto("/account/approvals")
    await page.locator(f"main a[href^='{BASE}']").first.click()
    if "/requests/" not in page.url:
        await page.get_by_role("link", name="Decide").click()
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Approve and pay 10 AVT").dblclick()
    await expect(page.get_by_role("status")).to_be_visible()


async def balance_of(person: PersonAtBrowser) -> str:
    answer = await person.registry.get("/teg/balance", headers=person.agent.headers)
    return answer.json()["balance"]


async def offer_work(person: PersonAtBrowser, title: str) -> None:
    page = person.page
    await page.goto(f"{BASE}/work/new")
    await page.get_by_label("Title", exact=True).first.fill(title)
    await page.get_by_label("Specification").fill("Forty pages of German.")
    await page.get_by_label("Acceptance criteria").fill("No page is missing.")
    await page.get_by_label("Reward in AVT").fill("5")
    await page.get_by_label("Bids until").fill(f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%dT%H:%M}")
    await confirm(page, "Offer the work", "Hold the reward and offer the work")
    await person.reads("The work is offered, and its reward is held.")


async def bid(person: PersonAtBrowser, title: str) -> None:
    """From the public board, as the owner of an agent."""
    page = person.page
    await page.goto("/work")
    await page.get_by_role("link", name=title).click()
    await page.get_by_role("link", name="Bid").click()
    await page.locator(f"a[href^='{person.base}/work/']").first.click()
    await page.get_by_label("Price in AVT").fill(PRICE)
    await page.get_by_label("Days that you need").fill("2")
    await confirm(page, "Bid")
    await expect(page.get_by_role("status")).to_contain_text("The bid counts.")


async def award(person: PersonAtBrowser, title: str) -> None:
    page = person.page
    await page.goto(f"{BASE}/work")
    await page.get_by_role("link", name=title).click()
    await confirm(page, "Award", f"Award for {PRICE} AVT")
    await expect(page.get_by_role("status")).to_be_visible()


async def contract_of(person: PersonAtBrowser) -> int:
    """The number of the newest contract of the agent."""
    answer = await person.registry.get("/contracts", headers=person.agent.headers)
    return answer.json()["items"][0]["id"]


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
