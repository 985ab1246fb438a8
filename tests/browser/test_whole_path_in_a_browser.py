"""The whole path of two people with real browsers and real mail, from signing up to the suspension of one of them."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page, expect

from hansa.doors.assembly import ASSEMBLY
from tests.browser.person import PersonAtBrowser, confirm
from tests.doors.served import served
from tests.mail_server import MailServer
from tests.paying import Payments
from tests.properties.scale import by_tier
from tests.registry import PASSWORD, StartRegistry, TestRegistry
from tests.running_jobs import working

PAIRS, VISITS = by_tier((1, 1), (3, 4), (6, 8))
# What is due on a calendar is no part of the path.
QUEUED = [kind for kind in ASSEMBLY.jobs if kind.every_seconds is None]


@pytest.fixture
def mails(unused_tcp_port: int):
    server = MailServer(unused_tcp_port)
    server.controller.start()
    yield server
    server.controller.stop()


@pytest.fixture
async def registry(start_registry: StartRegistry, mails: MailServer) -> AsyncIterator[TestRegistry]:
    """A registry that mails, and lets in only who verified the address."""
    settings = {
        "smtp_url": mails.url,
        "mail_from": "Registry <post@registry.example.org>",
        "email_verification_required": True,
    }
    async with served(start_registry, **settings) as registry, working(registry.runtime, *QUEUED):
        yield registry


@pytest.fixture
async def open_browser(browser: Browser, registry: TestRegistry):
    """Open a browser of a person of its own, at an address of its own: `await open_browser()`."""
    contexts = []

    async def opened() -> Page:
        context = await browser.new_context(
            base_url=registry.settings.base_url, extra_http_headers=registry.elsewhere()
        )
        contexts.append(context)
        return await context.new_page()

    yield opened
    for context in contexts:
        await context.close()


async def arrive(person: PersonAtBrowser, agent: str) -> None:
    """Sign up, verify the address without which there is no login, turn two factors on, create an agent."""
    await person.sign_up()
    await person.try_login()
    await expect(person.page.get_by_role("alert")).to_be_focused()
    await person.verify_address()
    await person.log_in()
    await person.turn_two_factors_on()
    await person.create_agent(agent)


async def pay(payer: PersonAtBrowser, payee: PersonAtBrowser) -> None:
    """The payer's program pays for a call, and the page of the payer shows the outcome."""
    payments = Payments(payer.registry, payer.agent, payee.agent)
    token = (await payments.authorized("2"))["token"]
    assert (await payments.verify(token))["valid"]
    settled = await payments.settle(token, wait=10)
    assert settled.json()["status"] == "settled", settled.text
    await payer.page.goto(f"{payer.base}/wallet/tokens")
    await expect(payer.page.locator("tbody").first).to_contain_text("Paid, tx-")


async def agree(contractor: PersonAtBrowser, provider: PersonAtBrowser) -> None:
    """A contract whose work is changed once, approved and paid."""
    number = await contractor.propose(provider, "5")
    await provider.act_on_contract(number, "Accept", "The contract is accepted.")
    await provider.deliver(number)
    await contractor.act_on_contract(number, "Request changes", "Changes are requested.", Note="One more.")
    await provider.deliver(number)
    await contractor.act_on_contract(number, "Approve and pay", "The work is approved and paid.")


async def disagree(contractor: PersonAtBrowser, provider: PersonAtBrowser) -> tuple[int, int]:
    """A contract that ends in a dispute; the numbers of both."""
    contract = await contractor.propose(provider, "7")
    await provider.act_on_contract(contract, "Accept", "The contract is accepted.")
    await provider.deliver(contract)
    dispute = await contractor.file_dispute(contract)
    await provider.add_evidence(dispute)
    return contract, dispute


async def rule_and_suspend(page: Page, dispute: int, did: str) -> None:
    """An administrator rules for the complainant, and suspends the agent of the other after a preview."""
    await page.goto(f"/administration/disputes/{dispute}")
    await confirm(page, "End the time for evidence")
    await page.get_by_label("Ruling", exact=True).select_option("IN_FAVOR_OF_COMPLAINANT")
    await page.get_by_label("Note").fill("Five summaries are not signed.")
    await page.get_by_role("button", name="Preview the ruling").click()
    await expect(page.get_by_text("Nothing is ruled yet.")).to_be_visible()
    await page.get_by_role("button", name="Rule", exact=True).click()
    await expect(page.get_by_role("status")).to_have_text("The ruling is carried out.")
    await page.goto(f"/administration/agents?q={did}")
    await page.get_by_label(f"Select {did}").check()
    await page.get_by_label("Reason").fill("The work was not what was agreed.")
    await page.get_by_role("button", name="Preview").click()
    await expect(page.get_by_text("Nothing has been changed yet.")).to_be_visible()
    await page.get_by_role("button", name="Suspend", exact=True).click()
    await expect(page.get_by_role("heading", name="Suspend agents: outcome")).to_be_visible()


async def administrator_in(page: Page, registry: TestRegistry) -> None:
    """An administrator of enforcement who is logged in in this browser."""
    administrator = await registry.administrator("admin_enforcement")
    await page.goto("/login")
    await page.get_by_label("E-mail address").fill(administrator.email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Home")


async def whole_path(registry: TestRegistry, mails: MailServer, open_browser, pair: int) -> None:
    """Two people arrive at the same time and trade at each visit; a dispute ends in the suspension of one's agent."""
    ada, bob = [
        PersonAtBrowser(registry, mails, await open_browser(), f"{name}{pair}") for name in ("Ada", "Bob")
    ]
    await asyncio.gather(arrive(ada, f"Scribe {pair}"), arrive(bob, f"Printer {pair}"))
    for visit in range(VISITS):
        await asyncio.gather(ada.log_out(), bob.log_out())
        await asyncio.gather(ada.log_in(), bob.log_in())
        await asyncio.gather(ada.send(bob, "3"), bob.send(ada, "1"))
        await pay(ada, bob)
        if visit == 0:
            await agree(ada, bob)
    contract, dispute = await disagree(ada, bob)
    page = await open_browser()
    await administrator_in(page, registry)
    await rule_and_suspend(page, dispute, bob.agent.did)
    await ada.page.goto(f"{ada.base}/disputes/{dispute}")
    await expect(ada.page.locator("#ruling-title + dl")).to_contain_text("In favor of complainant")
    await ada.page.goto(f"{ada.base}/contracts/{contract}")
    await expect(ada.page.locator("dl.ledger").first).to_contain_text("Closed (ruling)")
    await bob.page.goto(bob.base)
    await expect(bob.page.locator("p.owned")).to_contain_text("Suspended")
    refused = await registry.get("/agents/me", headers=bob.agent.headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "AGENT_SUSPENDED")
    assert (await ada.agent.transfer(bob.agent, "1")).status_code == 403


async def test_two_people_walk_the_whole_path_and_every_unit_is_accounted_for(registry, mails, open_browser):
    await asyncio.gather(*(whole_path(registry, mails, open_browser, pair) for pair in range(PAIRS)))
    assert (await registry.supply())["delta"] == "0"
